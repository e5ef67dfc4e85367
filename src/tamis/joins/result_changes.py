"""How the results of joins changed, for whoever does not run clients: in Arrow, or as dicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from tamis.joins.client import ContentChange
from tamis.joins.intake import Intake
from tamis.joins.netting import NetChanges
from tamis.joins.roster import Roster
from tamis.joins.showing import Showing
from tamis.schema import Schema

ADDED, REMOVED = "added", "removed"


class ResultChanges:
    """What a batch of events left changed of the contents of joins.

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
        """How the content of each affected subscription changed."""
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
    """Net changes as tables, one for each form of results."""
    return [(showing, table_of(here, showing, roster, intake)) for here, showing in by_form(changes, roster, schema)]


def by_form(changes: Sequence[NetChanges], roster: Roster, schema: Schema) -> Iterator[tuple[NetChanges, Showing]]:
    """Changes of results apart by their form, and how results of that form are shown."""
    for change in changes:
        views = roster.view_of(change.subscription)
        for view in np.unique(views).tolist():
            here = change if (views == view).all() else change.take(views == view)
            signature, columns = roster.views[view]
            yield here, Showing(signature, columns, schema)


def table_of(changes: NetChanges, showing: Showing, roster: Roster, intake: Intake) -> pa.Table:
    """Changes of results of one form."""
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
