"""Routing table of a broker: canonical filters by the neighbour they came from, forwarding policies, intersection with
advertisements, digests.

Advertisements and subscriptions have the same form, so both tables are a `RoutingTable` (Li et al. 2005, §2). A policy
forwards all filters, those that nothing else covers, or what those are merged into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import pyarrow as pa

from tamis.errors import FilterError, FilterSyntaxError
from tamis.language import DEFAULT_LIMITS, Filter, Limits, bind, normalise, parse, print_filter
from tamis.language.cutting import fill_conjunct, literals_of
from tamis.language.joins import are_joins
from tamis.language.predicates import sort_key
from tamis.language.tree import Conjunct
from tamis.matching.base.statistics import Statistics
from tamis.routing.covering.summary import Summary
from tamis.routing.merging import MergePolicy, MergingTable
from tamis.routing.standing.forwarding import CoveringForwarding, Forwarding, SimpleForwarding
from tamis.schema import Schema

# Filters as brokers know them: by canonical text.

_MANY: Final = 8


@dataclass(frozen=True, slots=True)
class RoutedFilter:
    """Filter under its canonical text, which is all that brokers know it by.

    Who asked for it is known to the broker that they are at, and to nobody else: filters that are alike are one from
    there on, so that tables are the same in whatever order they came about.
    """

    text: str
    form: Filter = field(compare=False)


def read_filter(text: str, schema: Schema, limits: Limits = DEFAULT_LIMITS) -> RoutedFilter:
    """Filter in canonical form; `FilterError` if the text is none, calls operators, or joins tables."""
    if schema.tables and are_joins(pa.array([text]))[0]:
        raise FilterSyntaxError("a join is not routed by brokers; subscribe with a filter", text, 0, len(text))
    form = normalise(parse(text, schema, limits), schema, limits, text)
    written = print_filter(form, schema)
    if len(written) > len(text) and not _is_readable(written, schema, limits):
        written = text  # its canonical form is too large to be read again, by the next broker for one
    return RoutedFilter(written, form)


def read_canonical(texts: Sequence[str], schema: Schema, limits: Limits = DEFAULT_LIMITS) -> list[RoutedFilter]:
    """Filters of canonical texts (written by `read_filter`), in bulk: each shape of them is parsed once.

    `FilterError` if one is none. A text of other making is read too, but not brought into normal form.
    """
    if len(texts) < _MANY:
        return [read_filter(text, schema, limits) for text in texts]
    bound = bind(texts, schema, limits)
    if bound.errors:
        raise bound.errors[0][1]
    forms: list[tuple[Conjunct, ...]] = [()] * len(texts)
    for block in bound.blocks:
        for row, values in zip(block.rows.tolist(), literals_of(block.columns, len(block.rows)), strict=True):
            forms[row] = tuple(fill_conjunct(conjunct, values) for conjunct in block.template.conjuncts)
    for block in bound.terms:
        ((*literals,),) = block.template.conjuncts
        for row, values in zip(block.rows.tolist(), literals_of(block.columns, len(block.rows)), strict=True):
            forms[row] = ((*(forms[row][0] if forms[row] else ()), *fill_conjunct(tuple(literals), values)),)
    return [RoutedFilter(text, Filter(_ordered(form))) for text, form in zip(texts, forms, strict=True)]


def _ordered(conjuncts: Iterable[Conjunct]) -> tuple[Conjunct, ...]:
    sorted_ones = {tuple(sorted(set(conjunct), key=sort_key)) for conjunct in conjuncts}
    return tuple(sorted(sorted_ones, key=lambda conjunct: [sort_key(literal) for literal in conjunct]))


def _is_readable(text: str, schema: Schema, limits: Limits) -> bool:
    try:
        parse(text, schema, limits)
    except FilterError:
        return False
    return True


# Forwarding policies over sets of filters.


@dataclass(frozen=True, slots=True)
class RowChange:
    """Change of a set of filters: additions and removals, disjoint and applied together."""

    added: tuple[RoutedFilter, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


Policy = Callable[[Schema], Forwarding]

_SIMPLE: Final = "simple"
_COVERING: Final = "covering"
_MERGING: Final = "merging"
POLICIES: Final = (_SIMPLE, _COVERING, _MERGING)


def policy(name: str, merging: MergePolicy | None = None) -> Policy:
    """Forwarding policy of a name in `POLICIES`; `merging` says when filters are merged and how far."""
    if name == _SIMPLE:
        return lambda schema: SimpleForwarding()
    if name == _COVERING:
        return CoveringForwarding
    if name == _MERGING:
        return lambda schema: MergingTable(schema, merging)
    raise ValueError(f"there is no policy {name!r}; there are {', '.join(POLICIES)}")


class Reduction:
    """Set of filters by text, and the filters forwarded in their place, by text too.

    Whatever matches a filter of the set matches one that is forwarded.
    """

    def __init__(self, schema: Schema, policy: Policy) -> None:
        self._schema = schema
        self._forwarding = policy(schema)
        self._texts: dict[str, str] = {}  # of what is forwarded, by its id: a filter's text, or a merger's name
        self._counts: dict[str, int] = {}
        self.forwarded: dict[str, RoutedFilter] = {}

    def change(self, added: Iterable[RoutedFilter], removed: Iterable[RoutedFilter]) -> RowChange:
        """Adds filters that are not in the set and removes some that are; returns the change of what is forwarded."""
        known: dict[str, RoutedFilter] = {}
        before: dict[str, bool] = {}
        changes = [self._forwarding.insert(filter.text, filter.form) for filter in added]
        changes += [self._forwarding.remove(filter.text) for filter in removed]
        for change in changes:
            for id, form in change.subscribe:
                # A merger may say in the same words what a filter said before it.
                text = self._texts[id] = id if id in self._forwarding else print_filter(form, self._schema)
                before.setdefault(text, text in self._counts)
                known[text] = RoutedFilter(text, form)
                self._counts[text] = self._counts.get(text, 0) + 1
            for id in change.unsubscribe:
                text = self._texts.pop(id)
                before.setdefault(text, text in self._counts)
                self._counts[text] -= 1
                if not self._counts[text]:
                    del self._counts[text]
        gained = tuple(known[text] for text, was in before.items() if not was and text in self._counts)
        lost = tuple(text for text, was in before.items() if was and text not in self._counts)
        for text in lost:
            del self.forwarded[text]
        self.forwarded.update((filter.text, filter) for filter in gained)
        return RowChange(gained, lost)

    def learn(self, statistics: Statistics) -> None:
        """Sets the expected statistics of events, from the next merging on."""
        if isinstance(self._forwarding, MergingTable):
            self._forwarding.learn(statistics)

    def expect(self, gates: Mapping[str, RoutedFilter]) -> None:
        """Sets the advertisements: only events that match one of these will come from where the filters are forwarded
        to."""
        if isinstance(self._forwarding, MergingTable):
            self._forwarding.advertise([gate.form for gate in gates.values()])


# Intersection of two filters: decides which subscriptions are forwarded towards an advertiser.


def intersects(a: Filter, b: Filter, schema: Schema) -> bool:
    """False only if provably no event satisfies both; True also where patterns or comparisons of attributes hide that.

    A subscription that is forwarded in vain costs a row; one that is not forwarded would cost events.
    """
    if () in a.conjuncts or () in b.conjuncts:  # TRUE
        return bool(a.conjuncts) and bool(b.conjuncts)
    return any(not Summary((*one, *other), schema).impossible for one in a.conjuncts for other in b.conjuncts)


# Routing table: one structure for advertisements and for subscriptions.


class Digest:
    """Order-independent digest of a set of texts: the exclusive or of their hashes, kept up with every change."""

    def __init__(self) -> None:
        self._value = 0

    def toggle(self, text: str) -> None:
        """Adds a text, or removes it if present."""
        self._value ^= int.from_bytes(blake2b(text.encode(), digest_size=16).digest(), "big")

    def __str__(self) -> str:
        return f"{self._value:032x}"


class RoutingTable:
    """Filters by the hop that they came from, and for each target the filters to be forwarded to it.

    A hop is a neighbour or a client; targets are the neighbours. To a target goes what came from any other hop, less
    what the policy makes of it. With `gated`, only those filters go there that intersect one of the target's gates:
    subscriptions follow the advertisements that came from where they are sent to.
    """

    def __init__(self, schema: Schema, policy: Policy, *, gated: bool = False) -> None:
        self._schema = schema
        self._policy = policy
        self._gated = gated
        self._filters: dict[str, RoutedFilter] = {}
        self._rows: dict[str, dict[str, int]] = {}
        self._hops_with: dict[str, int] = {}
        self._digests: dict[str, Digest] = {}
        self._targets: dict[str, _Target] = {}
        self._statistics: Statistics | None = None

    def rows(self, hop: str) -> list[str]:
        """Filters that came from a hop, sorted."""
        return sorted(self._rows.get(hop, ()))

    def digest(self, hop: str) -> str:
        """Digest of the filters that came from a hop."""
        return str(self._digests.get(hop, Digest()))

    def forwarded(self, target: str) -> Mapping[str, RoutedFilter]:
        """Filters forwarded to the target, by text."""
        return self._targets[target].reduction.forwarded

    def forwarded_digest(self, target: str) -> str:
        """Digest of the filters forwarded to the target: equal to the target's `digest` of this broker when it is up
        to date."""
        return str(self._targets[target].digest)

    @property
    def targets(self) -> list[str]:
        return list(self._targets)

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    def add_target(self, target: str, gates: Iterable[RoutedFilter] = ()) -> None:
        """Adds a target, to which everything that came from others is forwarded."""
        self._targets[target] = new = _Target(self._schema, Reduction(self._schema, self._policy), self._gated)
        if self._statistics is not None:
            new.reduction.learn(self._statistics)
        new.open(gates, ())
        mine = self._rows.get(target, {})
        new.offer([filter for text, filter in self._filters.items() if self._hops_with[text] > (text in mine)], ())

    def remove_target(self, target: str) -> None:
        del self._targets[target]

    def change(self, hop: str, added: Iterable[RoutedFilter], removed: Iterable[str]) -> dict[str, RowChange]:
        """Adds filters of a hop and withdraws others; returns the changes for each target.

        The same filter may come from a hop several times, and is there until it is withdrawn as often.
        """
        rows, digest = self._rows.setdefault(hop, {}), self._digests.setdefault(hop, Digest())
        touched: dict[str, None] = {}
        before: dict[str, bool] = {}
        for filter in added:
            before.setdefault(filter.text, filter.text in rows)
            touched[filter.text] = None
            self._filters.setdefault(filter.text, filter)
            rows[filter.text] = rows.get(filter.text, 0) + 1
        for text in removed:
            before.setdefault(text, text in rows)
            touched[text] = None
            rows[text] -= 1
            if not rows[text]:
                del rows[text]
        changed = [text for text in touched if (text in rows) != before[text]]
        gained = [text for text in changed if text in rows]
        lost = [text for text in changed if text not in rows]
        for text in changed:
            digest.toggle(text)
            self._hops_with[text] = self._hops_with.get(text, 0) + (1 if text in rows else -1)
        told = {
            target: found
            for target in self._targets
            if target != hop and (found := self._offer(target, hop, gained, lost))
        }
        for text in touched:
            if not self._hops_with.get(text, 0):
                self._hops_with.pop(text, None)
                del self._filters[text]
        if not rows:
            del self._rows[hop], self._digests[hop]
        return told

    def open_gates(self, target: str, added: Iterable[RoutedFilter], removed: Iterable[str]) -> RowChange:
        """Adds and removes gates of a target; returns the changes for it."""
        return self._targets[target].open(added, removed)

    def learn(self, statistics: Statistics) -> None:
        """Sets the expected statistics of events, where the forwarding policy uses them."""
        self._statistics = statistics
        for target in self._targets.values():
            target.reduction.learn(statistics)

    def _offer(self, target: str, hop: str, gained: list[str], lost: list[str]) -> RowChange:
        """Offers or withdraws filters that the target does not itself have, and no other hop has."""
        theirs = self._rows.get(target, {})
        new = [self._filters[t] for t in gained if self._hops_with[t] - (t in theirs) == 1]
        old = [self._filters[t] for t in lost if self._hops_with[t] - (t in theirs) == 0]
        return self._targets[target].offer(new, old)


class _Target:
    """Filters offered to one target, the part that its gates admit, and what is forwarded of that.

    `_support` has for each admitted filter the gate it was admitted by, so that a gate that closes is felt by those
    filters only.
    """

    def __init__(self, schema: Schema, reduction: Reduction, gated: bool) -> None:
        self.reduction = reduction
        self.digest = Digest()
        self._schema = schema
        self._gated = gated
        self._offered: dict[str, RoutedFilter] = {}
        self._gates: dict[str, RoutedFilter] = {}
        self._support: dict[str, str] = {}

    def offer(self, added: Iterable[RoutedFilter], removed: Iterable[RoutedFilter]) -> RowChange:
        gone = [filter for filter in removed if self._offered.pop(filter.text, None) is not None]
        new = list(added)
        self._offered.update((filter.text, filter) for filter in new)
        if not self._gated:
            return self._reduce(new, gone)
        dropped = [filter for filter in gone if self._support.pop(filter.text, None) is not None]
        return self._reduce([filter for filter in new if self._admit(filter, self._gates.values())], dropped)

    def open(self, added: Iterable[RoutedFilter], removed: Iterable[str]) -> RowChange:
        closed = set(removed)
        for text in closed:
            self._gates.pop(text, None)
        new = list(added)
        self._gates.update((gate.text, gate) for gate in new)
        if self._gated:
            self.reduction.expect(self._gates)
        admitted, dropped = [], []
        if closed:
            for text in [text for text, gate in self._support.items() if gate in closed]:
                del self._support[text]
                if not self._admit(self._offered[text], self._gates.values()):
                    dropped.append(self._offered[text])
        if new:
            waiting = [filter for text, filter in self._offered.items() if text not in self._support]
            shut = {filter.text for filter in dropped}
            admitted = [filter for filter in waiting if filter.text not in shut and self._admit(filter, new)]
        return self._reduce(admitted, dropped)

    def _admit(self, filter: RoutedFilter, gates: Iterable[RoutedFilter]) -> bool:
        for gate in gates:
            if intersects(gate.form, filter.form, self._schema):
                self._support[filter.text] = gate.text
                return True
        return False

    def _reduce(self, added: list[RoutedFilter], removed: list[RoutedFilter]) -> RowChange:
        if not added and not removed:
            return RowChange()
        told = self.reduction.change(added, removed)
        for text in (*(filter.text for filter in told.added), *told.removed):
            self.digest.toggle(text)
        return told
