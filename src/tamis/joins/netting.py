"""Net changes of joins by a batch: results that came and went, without those that did both, as Arrow or dicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from tamis.arrays import Bools, Int64s
from tamis.joins.arrivals import Identity, Result, Showing, Shown
from tamis.joins.client import ContentChange
from tamis.joins.index.messages import Messages, Operation
from tamis.joins.index.ranges import Shape
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.joins.intake import Intake
from tamis.joins.layout import Layout
from tamis.joins.roster import Roster
from tamis.schema import Schema

_MOST = 1 << 62


@dataclass(frozen=True, slots=True)
class NetChanges:
    """Changes of results of one signature: subscription, came or went, and the result's rows, tables ascending.

    `event` is the event of the batch that made it come or go.
    """

    signature: int
    subscription: Int64s
    added: Bools
    rows: Int64s
    event: Int64s

    def take(self, which: Bools | Int64s) -> NetChanges:
        return NetChanges(
            self.signature, self.subscription[which], self.added[which], self.rows[which], self.event[which]
        )


class Netting:
    """Nets the messages of Enum-J for one batch.

    A result that comes and goes again has a row that came in the batch, and one that went in it; only such results are
    looked at. `same[t]` has pairs of rows of table t, the first of which went and the second came, that have one key
    and one content: to results they are one row.
    """

    def __init__(self, changes: Changes, event: Int64s, same: Sequence[tuple[Int64s, Int64s]]) -> None:
        self._event = event
        self._same = same
        tables = range(len(same))
        self._came, self._went = (
            [_mask(rows[(changes.table == table) & (rows != NO_ROW)]) for table in tables]
            for rows in (changes.new, changes.old)
        )

    def net(self, messages: Messages, shape: Shape) -> list[NetChanges]:
        """Net changes, signature by signature."""
        return [self._netted(one, shape.tables_of(one.signature)) for one in self.told(messages, shape)]

    def told(self, messages: Messages, shape: Shape) -> list[NetChanges]:
        """Changes without netting, in the order of the events, signature by signature."""
        of = np.repeat(np.arange(len(messages)), np.diff(messages.first_tuple))
        signatures = np.unique(messages.group)
        found = []
        for signature in signatures.tolist():
            tables = shape.tables_of(signature)
            here = slice(None) if len(signatures) == 1 else messages.group[of] == signature
            of_result = of[here][:: len(tables)]
            rows = messages.row[here].reshape(-1, len(tables))
            added = messages.operation[here][:: len(tables)] == Operation.INSERT
            whose, event = messages.subscription[of_result], self._event[messages.event[of_result]]
            found.append(NetChanges(signature, whose, added, rows, event))
        return found

    def _netted(self, told: NetChanges, tables: tuple[int, ...]) -> NetChanges:
        if told.added.all() or not told.added.any():
            return told
        rows = told.rows.copy()
        doubtful = np.zeros(len(rows), np.bool_)
        for column_number, table in enumerate(tables):
            old, new = self._same[table]
            column = rows[:, column_number]
            went, came = _among(self._went[table], column), _among(self._came[table], column)
            doubtful |= np.where(told.added, went, came)
            if len(old):
                doubtful |= _among(_mask(old), column) | _among(_mask(new), column)
                standing = np.arange(max(int(column.max()), int(new.max())) + 1)
                standing[new] = old
                rows[:, column_number] = standing[column]
        some = np.flatnonzero(doubtful)
        if not len(some):
            return told
        order, starts = _grouped(told.subscription[some], rows[some])
        added = told.added[some[order]]
        balance = np.add.reduceat(np.where(added, 1, -1), starts)
        # What is there now is named by the last row that came, what was there by the first that went.
        place = np.arange(len(order))
        came = np.maximum.reduceat(np.where(added, place, -1), starts)
        went = np.minimum.reduceat(np.where(added, len(order), place), starts)
        left = some[order[np.where(balance > 0, came, went)[balance != 0]]]
        return told.take(np.sort(np.concatenate([np.flatnonzero(~doubtful), left])))


def _grouped(whose: Int64s, rows: Int64s) -> tuple[Int64s, Int64s]:
    """Order in which equal results of one subscription stand together, as they came, and where each begins."""
    columns = [whose, *rows.T]
    sizes = [int(column.max()) + 1 for column in columns]
    if np.prod(np.array(sizes, np.float64)) < _MOST:
        key = columns[0]
        for column, size in zip(columns[1:], sizes[1:], strict=True):
            key = key * size + column
        columns = [key]
    order = np.lexsort(columns[::-1]) if len(columns) > 1 else np.argsort(columns[0], kind="stable")
    differs = np.zeros(len(order), np.bool_)
    differs[0] = True
    for column in columns:
        differs[1:] |= np.diff(column[order]) != 0
    return order, np.flatnonzero(differs)


def _mask(rows: Int64s) -> Bools:
    mask = np.zeros(int(rows.max(initial=-1)) + 1, np.bool_)
    mask[rows] = True
    return mask


def _among(mask: Bools, rows: Int64s) -> Bools:
    if not mask.any():
        return np.zeros(len(rows), np.bool_)
    inside = rows < len(mask)
    found = np.zeros(len(rows), np.bool_)
    found[inside] = mask[rows[inside]]
    return found


# Changes of the results of joins, for callers that do not run clients: in Arrow, or as dicts.

ADDED, REMOVED = "added", "removed"


class ResultChanges:
    """Net changes of the contents of joins by a batch of events.

    `tables` has an Arrow table for each form of results (what is joined, and which columns are shown): `subscription`
    (its id) and `change` (added or removed) as dictionaries, `event` (the place in the batch of the event that did it)
    and `row`, a struct of the result's columns.
    """

    def __init__(self, tables: Sequence[tuple[Showing, pa.Table]]) -> None:
        self._tables = tables

    @property
    def tables(self) -> list[pa.Table]:
        return [table for _, table in self._tables]

    def __len__(self) -> int:
        return sum(table.num_rows for _, table in self._tables)

    @cached_property
    def by_subscription(self) -> dict[str, ContentChange]:
        """Changes of the content of each affected subscription."""
        found: dict[str, ContentChange] = {}
        for showing, table in self._tables:
            rows = showing.shown(table["row"].combine_chunks())
            for id, change, row in zip(
                table["subscription"].to_pylist(), table["change"].to_pylist(), rows, strict=True
            ):
                content = found.get(id)
                if content is None:
                    content = found[id] = ContentChange([], [])
                (content.added if change == ADDED else content.removed).append(row)
        return found


def results_in_arrow(
    changes: Sequence[NetChanges], roster: Roster, intake: Intake, schema: Schema
) -> list[tuple[Showing, pa.Table]]:
    """Net changes as Arrow tables, one for each form of results."""
    return [(showing, table_of(here, showing, roster, intake)) for here, showing in by_form(changes, roster, schema)]


def by_form(changes: Sequence[NetChanges], roster: Roster, schema: Schema) -> Iterator[tuple[NetChanges, Showing]]:
    """Changes of results grouped by form, with the presentation of that form."""
    for change in changes:
        views = roster.view_of(change.subscription)
        for view in np.unique(views).tolist():
            here = change if (views == view).all() else change.take(views == view)
            signature, columns = roster.views[view]
            yield here, Showing(signature, columns, schema)


def table_of(changes: NetChanges, showing: Showing, roster: Roster, intake: Intake) -> pa.Table:
    """Arrow table of the changes of results of one form."""
    rows = {}
    for place, name in enumerate(showing.tables):
        if needed := showing.needed(name):
            # Few rows are in many results: these are gathered first, and looked up there.
            distinct, back = np.unique(changes.rows[:, place], return_inverse=True)
            rows[name] = intake.rows(name, distinct, needed).take(pa.array(back))
    numbers, places = np.unique(changes.subscription, return_inverse=True)
    ids = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(roster.ids_of(numbers), pa.string()))
    change = pa.DictionaryArray.from_arrays(pa.array(changes.added.astype(np.int8)), pa.array([REMOVED, ADDED]))
    columns = [ids, change, pa.array(changes.event), showing.structs(rows)]
    return pa.Table.from_arrays(columns, names=["subscription", "change", "event", "row"])


# Effects of each event of a batch by itself, for callers that keep rows and contents in a store of their own.


@dataclass(frozen=True, slots=True)
class ResultChange:
    """Effect of one event on one result of a subscription: shown before and after, None for nothing."""

    event: int
    id: str
    result: Result
    before: Shown | None
    after: Shown | None


@dataclass(frozen=True, slots=True)
class RowChange:
    """Effect of one event on one row of a table: another version of it, or (`there` is false) its removal."""

    event: int
    table: str
    identity: Identity
    there: bool


def changed_results(
    told: Sequence[NetChanges], roster: Roster, intake: Intake, schema: Schema
) -> Iterator[ResultChange]:
    """Changes of results in the order of the events; a result that an event leaves as it looks is none."""
    touched: dict[tuple[int, str, Result], list[Shown | None]] = {}
    for changes, showing in by_form(told, roster, schema):
        table = table_of(changes, showing, roster, intake)
        shown = showing.shown(table["row"].combine_chunks())
        names = showing.tables
        for event, id, added, rows, row in zip(
            changes.event.tolist(), table["subscription"].to_pylist(), changes.added, changes.rows.tolist(), shown,
            strict=True,
        ):  # fmt: skip
            result = tuple(intake.identity(name, number) for name, number in zip(names, rows, strict=True))
            touched.setdefault((event, id, result), [None, None])[int(added)] = row
    for (event, id, result), (before, after) in sorted(touched.items(), key=lambda item: item[0][0]):
        if before != after:
            yield ResultChange(event, id, result, before, after)


def changed_rows(changes: Changes, event: Int64s, layout: Layout, intake: Intake) -> Iterator[RowChange]:
    """Changes of rows, in order."""
    for number, old, new, place in zip(changes.table, changes.old, changes.new, event, strict=True):
        table, there = layout.tables[number], bool(new != NO_ROW)
        yield RowChange(int(place), table, intake.identity(table, int(new if there else old)), there)
