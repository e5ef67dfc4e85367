"""Join state of a client: the tuples that it holds, table by table, joined incrementally into results."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tamis.joins.arrivals import Identity, Result, Values
from tamis.language.joins.join import Signature

JoinKey: TypeAlias = tuple[Hashable, ...]


@dataclass(slots=True)
class _Held:
    """Newest known version of a row: None if it is known to be gone. `passes`: it satisfies all of its conditions."""

    sequence: int
    row: Values | None
    passes: bool


class Holding:
    """Tuples of one subscription's semijoins, indexed by join key; calls `add` and `remove` for each result.

    All that the server takes the client to hold is held, even tuples that the client's other conditions do not pass:
    only then do both sides agree on which tuples still have a partner. Where two tables filter each other, the tuples
    of one with some join key go when the last of the other with that key does; where only one does, the server says so
    (`cut`).
    """

    def __init__(
        self,
        signature: Signature,
        filtering: Mapping[str, str],
        add: Callable[[Result, tuple[Values, ...]], None],
        remove: Callable[[Result], None],
    ) -> None:
        self._signature = signature
        self._filtering = filtering
        self._add = add
        self._remove = remove
        self._held: dict[str, dict[Identity, _Held]] = {table: {} for table in signature.tables}
        self._index: dict[tuple[str, tuple[str, ...]], dict[JoinKey, dict[Identity, Values]]] = {}
        for edge in signature.edges:
            for table in (edge.left, edge.right):
                self._index.setdefault((table, edge.attributes), {})
        self._cuts: dict[tuple[str, JoinKey], int] = {}
        self._results: dict[tuple[str, Identity], set[Result]] = {}
        self._orders = {table: _order(signature, table) for table in signature.tables}

    def put(self, sequence: int, table: str, identity: Identity, row: Values | None, passes: bool) -> None:
        """Stores a row's newest version, None if it is no longer selected; in one change, before `forget`."""
        known = self._held[table].get(identity)
        if known is not None and known.sequence > sequence:
            return
        if row is not None and self._is_cut(sequence, table, row):
            row = None
        before = known.row if known is not None else None
        self._held[table][identity] = _Held(sequence, row, passes)
        self._replace(sequence, table, identity, before, row)

    def forget(self, sequence: int, table: str, identity: Identity) -> None:
        known = self._held[table].get(identity)
        if known is not None and known.row is not None and known.sequence >= sequence:
            return
        self.put(sequence, table, identity, None, False)

    def cut(self, sequence: int, table: str, row: Values) -> None:
        """Drops the tuples of a table under the join key of a row of the table that filters it."""
        attributes = self._signature.between(table, self._filtering[table])
        self._cut_key(sequence, table, attributes, _key(row, attributes))

    def _cut_key(self, sequence: int, table: str, attributes: tuple[str, ...], key: JoinKey) -> None:
        self._cuts[table, key] = max(sequence, self._cuts.get((table, key), -1))
        for identity in list(self._index[table, attributes].get(key, ())):
            if self._held[table][identity].sequence <= sequence:
                self.put(sequence, table, identity, None, False)

    def _is_cut(self, sequence: int, table: str, row: Values) -> bool:
        other = self._filtering.get(table)
        if other is None:
            return False
        return sequence < self._cuts.get((table, _key(row, self._signature.between(table, other))), -1)

    def _replace(
        self, sequence: int, table: str, identity: Identity, before: Values | None, after: Values | None
    ) -> None:
        for result in self._results.pop((table, identity), set()):
            self._drop_result(result)
        for attributes, index in self._indexes(table):
            if before is not None:
                key = _key(before, attributes)
                del index[key][identity]
                if not index[key]:
                    del index[key]
            if after is not None:
                index.setdefault(_key(after, attributes), {})[identity] = after
        if after is not None and self._held[table][identity].passes:
            self._join(table, identity, after)
        if before is not None:
            self._cut_partners(sequence, table, before)

    def _cut_partners(self, sequence: int, table: str, gone: Values) -> None:
        other = self._filtering.get(table)
        if other is None or self._filtering.get(other) != table:
            return
        attributes = self._signature.between(table, other)
        key = _key(gone, attributes)
        if key not in self._index[table, attributes]:
            self._cut_key(sequence, other, attributes, key)

    def _indexes(self, table: str) -> Iterator[tuple[tuple[str, ...], dict[JoinKey, dict[Identity, Values]]]]:
        return ((attributes, index) for (owner, attributes), index in self._index.items() if owner == table)

    def _join(self, table: str, identity: Identity, row: Values) -> None:
        for chosen in self._extend({table: (identity, row)}, self._orders[table]):
            result = tuple(chosen[name][0] for name in self._signature.tables)
            self._add(result, tuple(chosen[name][1] for name in self._signature.tables))
            for name, (own, _) in chosen.items():
                self._results.setdefault((name, own), set()).add(result)

    def _extend(
        self, chosen: dict[str, tuple[Identity, Values]], left: tuple[tuple[str, str], ...]
    ) -> Iterator[dict[str, tuple[Identity, Values]]]:
        if not left:
            yield chosen
            return
        (table, neighbour), *rest = left
        attributes = self._signature.between(table, neighbour)
        found = self._index[table, attributes].get(_key(chosen[neighbour][1], attributes), {})
        for identity, row in list(found.items()):
            if self._held[table][identity].passes and self._agrees(table, row, chosen):
                yield from self._extend({**chosen, table: (identity, row)}, tuple(rest))

    def _agrees(self, table: str, row: Values, chosen: Mapping[str, tuple[Identity, Values]]) -> bool:
        return all(
            row[attribute] == other[attribute]
            for name, (_, other) in chosen.items()
            for attribute in self._signature.between(table, name)
        )

    def _drop_result(self, result: Result) -> None:
        self._remove(result)
        for table, identity in zip(self._signature.tables, result, strict=True):
            self._results.get((table, identity), set()).discard(result)


def _key(row: Values, attributes: tuple[str, ...]) -> JoinKey:
    return tuple(row[attribute][0] for attribute in attributes)


def _order(signature: Signature, first: str) -> tuple[tuple[str, str], ...]:
    """Other tables in an order in which each has a neighbour before it, with that neighbour."""
    taken, order = [first], []
    while len(taken) < len(signature.tables):
        table, neighbour = next(
            (table, other)
            for table in signature.tables
            if table not in taken
            for other in taken
            if signature.between(table, other)
        )
        taken.append(table)
        order.append((table, neighbour))
    return tuple(order)
