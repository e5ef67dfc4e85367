"""The server of join subscriptions: events in, messages of one scheme out; contents, and starts for clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tamis.errors import FilterError, SubscriptionError, TamisError, Violation
from tamis.joins.client import Delta, JoinClient, Kept, Note, Snapshot
from tamis.joins.coding import Coding
from tamis.joins.intake import Intake
from tamis.joins.layout import Layout, first_neighbours
from tamis.joins.lowering import lower
from tamis.joins.model import JoinGroup
from tamis.joins.naive import Identity, Result, Values
from tamis.joins.ranges import Integers
from tamis.joins.reading import notes_for, results_of
from tamis.joins.schemes.messages import Messages
from tamis.joins.schemes.scheme import SCHEMES, Scheme
from tamis.joins.showing import Showing, Shown
from tamis.joins.tables import NO_ROW, Changes
from tamis.language import DEFAULT_LIMITS, Limits, Tree, parse
from tamis.language.joins import Signature, bind_joins
from tamis.language.joins.signature import Column
from tamis.matching.naive import holds
from tamis.schema import OPERATION, Schema


@dataclass(frozen=True, slots=True)
class Applied:
    """What a batch of events came to: messages in order, and the events that were refused, with the reasons.

    `changes` are what happened to rows, and `event` the place in the batch of the event that each is due to.
    """

    messages: Messages
    refused: list[Violation]
    changes: Changes
    event: Integers


@dataclass(frozen=True, slots=True)
class ResultChange:
    """What one event did to one result of one subscription: what was shown of it before and after, None for nothing."""

    event: int
    id: str
    result: Result
    before: Shown | None
    after: Shown | None


@dataclass(frozen=True, slots=True)
class RowChange:
    """What one event did to one row of a table: there is another version of it now, or (`there` is false) none."""

    event: int
    table: str
    identity: Identity
    there: bool


@dataclass(frozen=True, slots=True)
class _Subscribed:
    """One subscription: its text, its group and place in it, and its number in the scheme."""

    text: str
    group: JoinGroup
    place: int
    number: int


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows of a table, the one that changed last at the end: events, and what tells them apart.

    `arrived` and `latest` are what `arrivals` told.
    """

    identities: Sequence[Identity]
    rows: pa.RecordBatch
    arrived: int
    latest: int | None


_Results: TypeAlias = dict[Result, tuple[tuple[Values, ...] | None, tuple[Values, ...] | None]]


class JoinServer:
    """Tables and join subscriptions under one schema, and one scheme that tells subscribers of changes.

    `errors` lists the subscriptions refused so far. Changes of any kind are made by one thread at a time.
    """

    def __init__(
        self,
        schema: Schema,
        subscriptions: Mapping[str, str] | None = None,
        scheme: str = "enum-j",
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        if scheme not in SCHEMES:
            raise TamisError(f"there is no scheme {scheme!r}; there are {', '.join(SCHEMES)}")
        self.schema = schema
        self.errors: list[tuple[str, FilterError]] = []
        self._kind = SCHEMES[scheme]
        self._limits = limits
        self._coding = Coding(schema)
        self._intake = Intake(schema, self._coding)
        self._joins: dict[str, _Subscribed] = {}
        self._ids: dict[int, str] = {}
        self._residuals: dict[str, Tree] = {}
        self._showings: dict[tuple[Signature, tuple[Column, ...] | None], Showing] = {}
        self._layout: Layout | None = None
        self._scheme: Scheme | None = None
        self._sequence = 0
        self.add(subscriptions or {})

    @property
    def scheme(self) -> str:
        """The name of the scheme at work."""
        return self._kind.name

    def add(self, subscriptions: Mapping[str, str]) -> list[tuple[str, FilterError]]:
        """Adds joins; those that are refused are returned with the reason, and the rest is added."""
        for id in subscriptions:
            if id in self._joins:
                raise SubscriptionError(f"there is a subscription {id!r} already; remove it first")
        if not subscriptions:
            return []
        ids, texts = list(subscriptions), list(subscriptions.values())
        bound = bind_joins(texts, self.schema, self._limits)
        groups = lower(pa.array(ids, pa.string()), bound, self.schema, self._coding).groups
        if self._layout is None or not self._layout.fits(groups):
            self._lay_out([*self._groups(), *groups])
        assert self._scheme is not None
        assert self._layout is not None
        for group in groups:
            numbers = self._scheme.subscribe(self._layout.ranges(group, first_neighbours)).tolist()
            for place, (row, number) in enumerate(zip(group.rows.tolist(), numbers, strict=True)):
                self._joins[ids[row]] = _Subscribed(texts[row], group, place, number)
                self._ids[number] = ids[row]
        refused = [(ids[row], error) for row, error in bound.errors]
        self.errors += refused
        return refused

    def remove(self, ids: Iterable[str]) -> None:
        """Removes subscriptions; all of them must be there, else none is removed."""
        given = list(dict.fromkeys(ids))
        numbers = [self._found(id).number for id in given]
        if self._scheme is not None:
            self._scheme.unsubscribe(np.array(numbers, np.int64))
        for id in given:
            del self._ids[self._joins.pop(id).number]

    def apply(self, events: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch) -> Applied:
        """Takes events in. Those that break the schema, or that their table cannot take, are refused with a reason."""
        batch = self.schema.to_arrow(events)
        checked = self.schema.check(batch)
        refused = [Violation(**row) for row in checked.violations.to_pylist()]
        if self._scheme is None or self._layout is None:
            self._lay_out(())
        assert self._scheme is not None
        assert self._layout is not None
        taken = self._intake.take(checked.valid, self._layout, self._scheme.state.rows)
        rows = checked.valid_rows.to_pylist()
        refused += [Violation(rows[row], OPERATION, "table", None, why) for row, why in taken.refused.items()]
        self._sequence += len(taken.changes)
        refused.sort(key=lambda violation: violation.event)
        places = np.array(rows, np.int64)[taken.event]
        return Applied(self._scheme.change(taken.changes), refused, taken.changes, places)

    def notes(self, applied: Applied, id: str) -> list[Note]:
        """The messages that a subscription's filter accepts, as its client reads them; before the next batch."""
        assert self._scheme is not None
        assert self._layout is not None
        number = self._found(id).number
        return notes_for(applied.messages, number, self._scheme.state.subscriptions, self._layout, self._intake)

    def notifications(self, applied: Applied) -> dict[str, Delta]:
        """How the content of each affected subscription changed, by id; before the next batch. Needs `enum-j`."""
        found: dict[str, Delta] = {}
        for (_, id), results in self._touched(applied, np.zeros_like(applied.event)).items():
            showing = self._showing(id)
            changed = [(before, now) for before, now in results.values() if before != now]
            added = [showing.show(now) for _, now in changed if now is not None]
            removed = [showing.show(before) for before, _ in changed if before is not None]
            if changed:
                found[id] = Delta(added, removed)
        return found

    def result_changes(self, applied: Applied) -> list[ResultChange]:
        """The same event by event, in their order; before the next batch. Needs `enum-j`."""
        found: list[ResultChange] = []
        for (event, id), results in self._touched(applied, applied.event).items():
            showing = self._showing(id)
            for result, (before, now) in results.items():
                if before != now:
                    shown = (None if rows is None else showing.show(rows) for rows in (before, now))
                    found.append(ResultChange(event, id, result, *shown))
        return found

    def row_changes(self, applied: Applied) -> list[RowChange]:
        """What the batch did to rows, in order; before the next batch."""
        assert self._layout is not None
        changes, found = applied.changes, list[RowChange]()
        for number, old, new, event in zip(changes.table, changes.old, changes.new, applied.event, strict=True):
            table, there = self._layout.tables[number], bool(new != NO_ROW)
            identity = self._intake.identity(table, int(new if there else old))
            found.append(RowChange(int(event), table, identity, there))
        return found

    def _touched(self, applied: Applied, event: Integers) -> dict[tuple[int, str], _Results]:
        """The results that changes touch, before and after, by event (as `event` has it, for each change) and id."""
        if self.scheme != "enum-j":
            raise TamisError(f"{self.scheme!r} leaves results to clients; make clients, or use the scheme 'enum-j'")
        assert self._layout is not None
        messages = applied.messages
        touched: dict[tuple[int, str], _Results] = {}
        for m in range(len(messages)):
            id = self._ids[int(messages.subscription[m])]
            results = touched.setdefault((int(event[messages.event[m]]), id), {})
            # What was there goes before what is there instead.
            for whole in sorted(results_of(messages, m, self._layout, self._intake), key=lambda one: one.there):
                if self._passes(id, whole.rows):
                    before, _ = results.get(whole.identities, (None if whole.there else whole.rows, None))
                    results[whole.identities] = (before, whole.rows if whole.there else None)
        return touched

    def columns(self, id: str) -> list[str]:
        """What is shown of each of a subscription's results, in order."""
        return list(self._showing(id).labels)

    def _showing(self, id: str) -> Showing:
        group = self._found(id).group
        found = self._showings.get((group.signature, group.columns))
        if found is None:
            found = Showing(group.signature, group.columns, self.schema)
            self._showings[group.signature, group.columns] = found
        return found

    def restore(self, rows: Mapping[str, StoredRows]) -> None:
        """Takes over the rows of tables, as `row_changes` told of them, in place of those that are here."""
        for table, stored in rows.items():
            self._intake.restore(table, stored.identities, stored.rows, stored.arrived, stored.latest)
        self._lay_out(self._groups())

    def arrivals(self, table: str) -> tuple[int, int | None]:
        """How many rows a table ever took, and the greatest time among them if its retention goes by time."""
        return self._intake.arrivals(table)

    def client(self, id: str) -> JoinClient:
        """A client of a subscription that holds what it should hold now."""
        found = self._found(id)
        filtering = first_neighbours(found.group.signature) if "sj" in self.scheme else None
        client = JoinClient(found.text, self.schema, filtering, self._limits)
        client.resync(self.snapshot(id))
        return client

    def snapshot(self, id: str) -> Snapshot:
        """What a client of this scheme holds now."""
        found = self._found(id)
        signature = found.group.signature
        if self.scheme in ("enum-j", "ref-j", "ref-j+"):
            return Snapshot(self._latest, results=self._joined(found).results)
        selected = {table: self._selected(found, table) for table in signature.tables}
        if self.scheme == "rel-sel":
            return Snapshot(self._latest, {table: self._rows(table, numbers) for table, numbers in selected.items()})
        tuples = {}
        for table, other in first_neighbours(signature).items():
            reached = self._keys(found, table, other, other)[selected[other]]
            own = selected[table]
            kept = own[np.isin(self._keys(found, table, other, table)[own], reached)]
            tuples[table] = self._rows(table, kept)
        return Snapshot(self._latest, tuples)

    def content(self, id: str) -> list[Shown]:
        """The results of a subscription now, in no particular order."""
        return self._joined(self._found(id)).content()

    def results(self, id: str) -> list[tuple[Result, Shown]]:
        """The same, each with the rows that it is made of."""
        client = self._joined(self._found(id))
        return list(zip(client.results, client.content(), strict=True))

    def text(self, id: str) -> str:
        """A subscription as it was written."""
        return self._found(id).text

    def ids(self) -> list[str]:
        return list(self._joins)

    def __len__(self) -> int:
        return len(self._joins)

    def __contains__(self, id: object) -> bool:
        return id in self._joins

    def __repr__(self) -> str:
        return f"<JoinServer of {len(self)} subscriptions, {self.scheme}>"

    @property
    def _latest(self) -> int:
        """The number of the last change; the first one has 0."""
        return self._sequence - 1

    def _found(self, id: str) -> _Subscribed:
        if id not in self._joins:
            raise SubscriptionError(f"there is no join subscription {id!r}")
        return self._joins[id]

    def _passes(self, id: str, rows: Sequence[Values]) -> bool:
        """Whether rows pass what the intervals of a subscription do not say."""
        one = self._joins[id]
        for table, row in zip(one.group.signature.tables, rows, strict=True):
            residuals = one.group.residuals.get(table)
            if residuals is not None and (code := int(residuals.codes[one.place])) >= 0:
                text = residuals.texts[code].as_py()
                tree = self._residuals.get(text)
                if tree is None:
                    tree = self._residuals[text] = parse(text, self.schema, self._limits)
                if not holds(tree, row, self.schema):
                    return False
        return True

    def _groups(self) -> list[JoinGroup]:
        return list({id(one.group): one.group for one in self._joins.values()}.values())

    def _lay_out(self, groups: Sequence[JoinGroup]) -> None:
        """A new scheme, for subscriptions that speak of columns or edges that the old one had no place for."""
        self._layout = Layout(self.schema, groups)
        self._scheme = self._kind(self._layout.shape)
        state = self._scheme.state
        state.sequence = self._sequence
        for table, moved in self._intake.reload(self._layout, state.rows).items():
            number = self._layout.numbers[table]
            for edge in state.rows[number].edges:
                state.edges[edge].load(number, np.array(list(moved.values()), np.int64))
        self._ids = {}
        for id, one in self._joins.items():
            (fresh,) = self._scheme.subscribe(self._layout.ranges(_single(one), first_neighbours)).tolist()
            self._joins[id] = _Subscribed(one.text, one.group, one.place, fresh)
            self._ids[fresh] = id

    def _selected(self, found: _Subscribed, table: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The rows of a table that a subscription selects by the considered attributes."""
        assert self._scheme is not None
        assert self._layout is not None
        state, number = self._scheme.state, self._layout.numbers[table]
        rows = np.array(self._intake.numbers(table), np.int64)
        column, wide = int(state.shape.first_column[number]), state.shape.considered[number]
        ranges = state.subscriptions
        low, high = (part[found.number, column : column + wide] for part in (ranges.low, ranges.high))
        values = state.rows[number].values[rows, :wide]
        return rows[((low <= values) & (values <= high)).all(axis=1)]

    def _keys(self, found: _Subscribed, one: str, other: str, whose: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        assert self._scheme is not None
        assert self._layout is not None
        edge = self._layout.edge_between(found.group.signature, one, other)
        return self._scheme.state.rows[self._layout.numbers[whose]].keys[edge]

    def _rows(self, table: str, numbers: Iterable[int]) -> dict[Identity, Values]:
        return {self._intake.identity(table, int(n)): self._intake.values(table, int(n)) for n in numbers}

    def _joined(self, found: _Subscribed) -> JoinClient:
        """A client that was told of every row there is."""
        client = JoinClient(found.text, self.schema, None, self._limits)
        parts = [
            Kept(table, identity, row)
            for table in found.group.signature.tables
            for identity, row in self._rows(table, self._selected(found, table)).items()
        ]
        client.apply([Note(self._latest, tuple(parts))])
        return client


def _single(one: _Subscribed) -> JoinGroup:
    """A group of one subscription."""
    group, here = one.group, slice(one.place, one.place + 1)
    intervals = {
        column: type(interval)(interval.low[here], interval.high[here]) for column, interval in group.intervals.items()
    }
    return JoinGroup(group.signature, group.rows[here], intervals, {}, group.columns)
