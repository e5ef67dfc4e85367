"""Effects of each event of a batch by itself, for whoever keeps rows and contents in a store of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tamis.arrays import Int64s
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.joins.intake import Intake
from tamis.joins.layout import Layout
from tamis.joins.netting import NetChanges, by_form, table_of
from tamis.joins.roster import Roster
from tamis.joins.rows import Identity, Result, Shown
from tamis.schema import Schema


@dataclass(frozen=True, slots=True)
class ResultChange:
    """Effect of one event on one result of a subscription: what was shown before and after, None for nothing."""

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
    """All that came and went, in the order of the events; what an event leaves as it looks is no change."""
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
