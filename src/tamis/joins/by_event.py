"""What each event of a batch did to rows and to results: for whoever keeps tables and contents elsewhere.

It is told of the batch that was applied last, before the next one. What results did, only a server with `enum-j` knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from tamis.errors import TamisError
from tamis.joins.naive import Identity, Result, Values
from tamis.joins.reading import results_of
from tamis.joins.server import Applied, JoinServer
from tamis.joins.showing import Showing, Shown
from tamis.joins.tables import NO_ROW
from tamis.language import Limits, Tree, parse
from tamis.matching.naive import holds
from tamis.schema import Schema

_REMEMBERED: Final = 10_000
_Rows: TypeAlias = tuple[Values, ...]
_Results: TypeAlias = dict[Result, tuple[_Rows | None, _Rows | None]]


@dataclass(frozen=True, slots=True)
class RowChange:
    """What one event did to one row of a table: there is another version of it now, or (`there` is false) none.

    `event` is its place in the batch.
    """

    event: int
    table: str
    identity: Identity
    there: bool


@dataclass(frozen=True, slots=True)
class ResultChange:
    """What one event did to one result of one subscription: what was shown of it before and after, None for nothing."""

    event: int
    id: str
    result: Result
    before: Shown | None
    after: Shown | None


def row_changes(server: JoinServer, applied: Applied) -> Iterator[RowChange]:
    """What the batch did to rows, in order."""
    assert server._layout is not None
    changes = applied.taken.changes
    for number, old, new, event in zip(changes.table, changes.old, changes.new, applied.event, strict=True):
        table, there = server._layout.tables[number], bool(new != NO_ROW)
        yield RowChange(int(event), table, server._intake.identity(table, int(new if there else old)), there)


def result_changes(server: JoinServer, applied: Applied) -> Iterator[ResultChange]:
    """What the batch did to results, event by event; what an event undoes itself is left out."""
    if server.scheme != "enum-j":
        raise TamisError(f"{server.scheme!r} leaves results to clients; use the scheme 'enum-j'")
    for (event, id), results in _touched(server, applied).items():
        showing = _showing(server, id)
        for result, versions in results.items():
            if versions[0] != versions[1]:
                before, after = (None if rows is None else showing.show(rows) for rows in versions)
                yield ResultChange(event, id, result, before, after)


def results_now(server: JoinServer, id: str) -> list[tuple[Result, Shown]]:
    """The content of a subscription, each result with what it is made of."""
    client = server._joined(server._found(id))
    return list(zip(client.results, client.content(), strict=True))


def columns_of(server: JoinServer, id: str) -> list[str]:
    """What is shown of each of a subscription's results, in order."""
    return list(_showing(server, id).labels)


def arrivals(server: JoinServer, table: str) -> tuple[int, int | None]:
    """How many rows a table ever took, and the greatest time among them if its retention goes by time."""
    state = server._intake._tables[table]
    return state.arrived, state.latest


def _touched(server: JoinServer, applied: Applied) -> dict[tuple[int, str], _Results]:
    """The results that changes touch, as they were and as they are, by event and subscription."""
    assert server._layout is not None
    messages = applied.messages
    touched: dict[tuple[int, str], _Results] = {}
    for m in range(len(messages)):
        id = server.id_of(int(messages.subscription[m]))
        results = touched.setdefault((int(applied.event[messages.event[m]]), id), {})
        # What was there goes before what is there instead.
        for whole in sorted(results_of(messages, m, server._layout, server._intake), key=lambda one: one.there):
            if _passes(server, id, whole.rows):
                before, _ = results.get(whole.identities, (None if whole.there else whole.rows, None))
                results[whole.identities] = (before, whole.rows if whole.there else None)
    return touched


def _passes(server: JoinServer, id: str, rows: Sequence[Values]) -> bool:
    """Whether rows pass what the intervals of a subscription do not say."""
    one = server._found(id)
    for table, row in zip(one.group.signature.tables, rows, strict=True):
        residuals = one.group.residuals.get(table)
        code = -1 if residuals is None else int(residuals.codes[one.place])
        if residuals is None or code < 0:
            continue
        if not holds(_tree(residuals.texts[code].as_py(), server.schema, server._limits), row, server.schema):
            return False
    return True


@lru_cache(_REMEMBERED)
def _tree(text: str, schema: Schema, limits: Limits) -> Tree:
    return parse(text, schema, limits)


def _showing(server: JoinServer, id: str) -> Showing:
    group = server._found(id).group
    return _shown(group.signature, group.columns, server.schema)


_shown = lru_cache(_REMEMBERED)(Showing)
