"""Client of a join subscription: the server's messages of any scheme, read for one subscription, and the exact content
of the join that they make.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from tamis.joins.arrivals import Identity, Result, Showing, Shown, Values
from tamis.joins.holding import Holding
from tamis.joins.index.messages import Form, Messages, Operation, accepted_by
from tamis.joins.index.ranges import Ranges
from tamis.joins.intake import Intake
from tamis.joins.layout import Layout
from tamis.language import DEFAULT_LIMITS, Filter, Limits, normalise
from tamis.language.comparisons import Comparisons
from tamis.language.joins.parsing import JoinTree, check_join
from tamis.language.predicates import attributes_of
from tamis.matching.conditions import Evaluator, evaluator_of
from tamis.schema import Schema


@dataclass(frozen=True, slots=True)
class Kept:
    """Message part: a tuple to keep, in place of an older version of its row.

    `wanted` is true if the subscription selects it as far as the server looks at selections; a client is also sent rows
    that it does not select any more, so that it forgets their older versions.
    """

    table: str
    identity: Identity
    row: Values
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Message part: a tuple to forget, unless a version of its row is there that is as new as this."""

    table: str
    identity: Identity


@dataclass(frozen=True, slots=True)
class Cut:
    """Message part: tuples of a table that agree with `row`, of the table that filters it, join nothing any more."""

    table: str
    row: Values


@dataclass(frozen=True, slots=True)
class Whole:
    """Message part: a whole result that came or went; its rows in the order of the signature's tables."""

    identities: Result
    rows: tuple[Values, ...]
    there: bool
    wanted: bool = True


Part: TypeAlias = Kept | Forgotten | Cut | Whole


@dataclass(frozen=True, slots=True)
class Note:
    """Message as its receiver reads it. `sequence` is the number of the change that it comes of."""

    sequence: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State of a client as of a change, to start or to resync from.

    `tuples` are the rows that the server takes it to hold, by table; `results` for schemes that send whole results.
    """

    sequence: int
    tuples: Mapping[str, Mapping[Identity, Values]] = field(default_factory=dict)
    results: Mapping[Result, tuple[Values, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContentChange:
    """Change of a subscription's content: results that came and went, as they are shown."""

    added: list[Shown]
    removed: list[Shown]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


class RowFilter:
    """The conditions of a join on the rows of one of its tables, for rows that come one at a time."""

    def __init__(self, filter: Filter, schema: Schema) -> None:
        self._alternatives: list[list[tuple[tuple[str, ...], Evaluator]]] = [
            [(attributes_of(literal), evaluator_of(literal, schema)) for literal in conjunct]
            for conjunct in filter.conjuncts
        ]

    @classmethod
    def of(cls, join: JoinTree, table: str, schema: Schema, limits: Limits) -> RowFilter:
        """Row filter of a join for one of its tables."""
        return cls(normalise(join.conditions[table], schema, limits), schema)

    def passes(self, row: Values) -> bool:
        """True if all conditions of one alternative hold."""
        return any(
            all(holds(*(row.get(name, ()) for name in names)) for names, holds in alternative)
            for alternative in self._alternatives
        )


class JoinClient:
    """The content of one join subscription, kept exact by the messages of any scheme.

    Messages may be repeated at any time, and those of one change may come in any order; of changes of rows that share a
    join key the order has to be kept. An update of a row that keeps its join key is one message: its new version,
    then the old one. `filtering` names, for each table, the neighbour by which the server filters the
    tuples that it sends of it. `join` is the subscription's text, read or not. One thread at a time.
    """

    def __init__(
        self,
        join: str | JoinTree,
        schema: Schema,
        filtering: Mapping[str, str] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._join = check_join(join, schema, Comparisons(join, limits)) if isinstance(join, str) else join
        self.signature = self._join.signature
        self._filters = {table: RowFilter.of(self._join, table, schema, limits) for table in self.signature.tables}
        self._filtering = dict(filtering or {})
        self._showing = Showing(self.signature, self._join.columns, schema)
        self._content: dict[Result, tuple[Values, ...]] = {}
        self._before: dict[Result, tuple[Values, ...] | None] = {}
        self._wholes: dict[Result, int] = {}
        self._holding = self._empty()

    def __len__(self) -> int:
        return len(self._content)

    @property
    def results(self) -> Mapping[Result, tuple[Values, ...]]:
        """Rows of each result, in the order of the signature's tables."""
        return self._content

    def content(self) -> list[Shown]:
        """Results as they are shown, in no particular order."""
        return [self._showing.show(rows) for rows in self._content.values()]

    def apply(self, notes: Iterable[Note]) -> ContentChange:
        """Applies messages; returns the change of the content."""
        for note in notes:
            # What is new first: then a row that is replaced is never missed by its partners.
            for part in sorted(note.parts, key=lambda part: not isinstance(part, Kept)):
                self._apply(note.sequence, part)
        return self._delta()

    def resync(self, snapshot: Snapshot) -> ContentChange:
        """Starts anew from the server's snapshot; differences from before are returned as a change."""
        for result in list(self._content):
            self._remove(result)
        self._wholes = {}
        self._holding = self._empty()
        for table, rows in snapshot.tuples.items():
            for identity, row in rows.items():
                self._apply(snapshot.sequence, Kept(table, identity, row))
        for result, whole in snapshot.results.items():
            self._apply(snapshot.sequence, Whole(result, whole, there=True))
        return self._delta()

    def _empty(self) -> Holding:
        return Holding(self.signature, self._filtering, self._add, self._remove)

    def _apply(self, sequence: int, part: Part) -> None:
        match part:
            case Kept(table, identity, row, wanted):
                self._holding.put(sequence, table, identity, row if wanted else None, self._passes(table, row))
            case Forgotten(table, identity):
                self._holding.forget(sequence, table, identity)
            case Cut(table, row):
                self._holding.cut(sequence, table, row)
            case Whole():
                self._whole(sequence, part)

    def _whole(self, sequence: int, whole: Whole) -> None:
        known = self._wholes.get(whole.identities, -1)
        there = whole.there and whole.wanted
        # Of one change, what is there counts for more than what was there before it.
        if sequence < known or (sequence == known and not there and whole.identities in self._content):
            return
        self._wholes[whole.identities] = sequence
        tables = self.signature.tables
        if there and all(map(self._passes, tables, whole.rows)):
            self._add(whole.identities, whole.rows)
        elif whole.identities in self._content:
            self._remove(whole.identities)

    def _passes(self, table: str, row: Values) -> bool:
        return self._filters[table].passes(row)

    def _add(self, result: Result, rows: tuple[Values, ...]) -> None:
        self._before.setdefault(result, self._content.get(result))
        self._content[result] = rows

    def _remove(self, result: Result) -> None:
        self._before.setdefault(result, self._content[result])
        del self._content[result]

    def _delta(self) -> ContentChange:
        added, removed = [], []
        for result, before in self._before.items():
            now = self._content.get(result)
            if before != now:
                if before is not None:
                    removed.append(self._showing.show(before))
                if now is not None:
                    added.append(self._showing.show(now))
        self._before = {}
        return ContentChange(added, removed)


# Messages read for one subscription's client: names and rows in place of numbers.


def notes_for(messages: Messages, number: int, ranges: Ranges, layout: Layout, intake: Intake) -> list[Note]:
    """Messages that a subscription's filter accepts."""
    reader = _Reader(messages, number, ranges, layout, intake)
    return [reader.note(int(m)) for m in np.flatnonzero(accepted_by(messages, ranges, number, layout.shape))]


class _Reader:
    """Reader of one batch's messages for one subscription."""

    def __init__(self, messages: Messages, number: int, ranges: Ranges, layout: Layout, intake: Intake) -> None:
        self.messages = messages
        self.layout = layout
        self.intake = intake
        self.filtering = ranges.filtering[number]
        self.low, self.high = ranges.low[number], ranges.high[number]

    def note(self, m: int) -> Note:
        where = self.messages.tuples(m)
        places = range(where.start, where.stop)
        parts: tuple[Part, ...]
        if self.messages.form[m] in (Form.JOINED, Form.RESULTS):
            parts = tuple(
                _whole(self.messages, group, self.layout, self.intake, all(map(self.wanted, group)))
                for group in _results(self.messages, places)
            )
        else:
            parts = tuple(self.part(place) for place in places)
        return Note(int(self.messages.sequence[m]), parts)

    def part(self, place: int) -> Part:
        operation, number = self.messages.operation[place], int(self.messages.row[place])
        table = self.layout.tables[self.messages.table[place]]
        if operation == Operation.DROP:
            edge = list(self.layout.edges)[self.filtering[self.messages.table[place]]]
            return Cut(table, self.intake.values(edge.right if edge.left == table else edge.left, number))
        identity = self.intake.identity(table, number)
        if operation == Operation.DELETE:
            return Forgotten(table, identity)
        return Kept(table, identity, self.intake.values(table, number), self.wanted(place))

    def wanted(self, place: int) -> bool:
        table = int(self.messages.table[place])
        column, wide = int(self.layout.shape.first_column[table]), self.layout.shape.considered[table]
        first = int(self.messages.first_value[place])
        values = self.messages.values[first : first + wide]
        here = slice(column, column + wide)
        return bool(((self.low[here] <= values) & (values <= self.high[here])).all())


def _results(messages: Messages, places: range) -> list[list[int]]:
    """Tuples of each result: tables ascend in one, so another begins where they do not."""
    found: list[list[int]] = []
    for place in places:
        if not found or messages.table[place] <= messages.table[place - 1]:
            found.append([])
        found[-1].append(place)
    return found


def _whole(messages: Messages, places: list[int], layout: Layout, intake: Intake, wanted: bool) -> Whole:
    rows = [(layout.tables[messages.table[place]], int(messages.row[place])) for place in places]
    return Whole(
        tuple(intake.identity(table, number) for table, number in rows),
        tuple(intake.values(table, number) for table, number in rows),
        there=bool(messages.operation[places[0]] == Operation.INSERT),
        wanted=wanted,
    )
