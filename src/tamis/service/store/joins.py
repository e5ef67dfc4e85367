"""Tables and contents (result sets) of joins: written in one transaction with their notifications, read as of a
position.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

import orjson
import pyarrow as pa
from sqlalchemy import Connection, Table, and_, bindparam, delete, func, insert, literal, select, true

from tamis.joins.arrivals import Identity, Result, Shown
from tamis.joins.intake import TableRecord
from tamis.schema import Schema
from tamis.schema.values import write_base64
from tamis.service.store import subscription as counters
from tamis.service.store.database import Database, StoreError, insert_rows, pieces
from tamis.service.store.delivery_state import require
from tamis.service.store.tables import (
    CONTENTS,
    COUNTERS,
    EVENTS,
    JOINED,
    NOTIFICATIONS,
    TABLE_ARRIVALS,
    TABLE_ROWS,
    microseconds,
    now,
)

RowKey: TypeAlias = tuple[str, str]
ResultKey: TypeAlias = tuple[int, str]
Owner: TypeAlias = tuple[str, str]
"""A log that services share, and the stream of the one that matches it."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """Row of a table: its key as JSON, and the event that changed it last."""

    key: str
    body: str


@dataclass(frozen=True, slots=True)
class StoredTable:
    """Table, with the row that changed last at the end. `arrived` and `latest` count all rows ever added."""

    rows: list[StoredRow]
    arrived: int
    latest: int | None


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a join as of a position: each result's id and its row as JSON.

    `begun` is false if the subscription is newer than its content, which notifications after the position will bring.
    `trouble` is why there is none any more.
    """

    position: int
    begun: bool
    trouble: str
    rows: list[tuple[str, str]]


class Joined(NamedTuple):
    """Join whose content is stored: its text, and its columns (JSON). `trouble`: why it is not stored any more."""

    text: str
    columns: str
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class JoinWrites:
    """Writes of a step, as new values: None stands for a removed one.

    `rows` have their position and body, `arrivals` the two numbers of a table, `contents` the row as JSON. What content
    the subscriptions in `joined` had before goes first.
    """

    rows: dict[RowKey, tuple[int, str] | None] = field(default_factory=dict)
    arrivals: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    contents: dict[ResultKey, str | None] = field(default_factory=dict)
    joined: dict[int, Joined | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.rows or self.arrivals or self.contents or self.joined)


@dataclass(frozen=True, slots=True)
class Opening:
    """Notification of a join's initial content: no event causes it, so it has an id of its own."""

    subscription: int
    event_id: str
    changes: str


class Joins:
    """Rows of tables and contents of joins. They change only with a batch, or with an opening, in one transaction each.

    So a content read as of a position is what the notifications up to there add up to.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def open(self, writes: JoinWrites, openings: Sequence[Opening], owner: Owner | None = None) -> int:
        """Opens and closes contents between batches; returns the head after that.

        `owner`: the log, where several services share one, and the stream that must have it, or nothing is done.
        """
        moment = microseconds(now())
        with self._database.write() as connection:
            if owner is not None:
                require(connection, *owner)
            head = counters.locked(connection, "head")
            write(connection, writes)
            placed = list(enumerate(openings, head + 1))
            rows = ((position, one.event_id, moment, "{}") for position, one in placed)
            insert_rows(connection, EVENTS, ("position", "id", "time", "body"), rows)
            pairs = ((position, one.subscription, one.changes) for position, one in placed)
            insert_rows(connection, NOTIFICATIONS, ("position", "subscription", "changes"), pairs)
            counters.put(connection, "head", head + len(openings))
        return head + len(openings)

    def content(self, subscription: int) -> Content:
        """Content of a join, in one statement, so that rows and position agree on every database."""
        head = select(COUNTERS.c.value.label("head")).where(COUNTERS.c.name == "head").subquery()
        joined = and_(JOINED.c.subscription == subscription, true())
        own = and_(CONTENTS.c.subscription == JOINED.c.subscription, literal(True))
        wanted = select(head.c.head, JOINED.c.trouble, CONTENTS.c.result, CONTENTS.c.row).select_from(
            head.outerjoin(JOINED, joined).outerjoin(CONTENTS, own)
        )
        with self._database.read() as connection:
            found = connection.execute(wanted.order_by(CONTENTS.c.result)).all()
        first = found[0]
        rows = [(row.result, row.row) for row in found if row.result is not None]
        return Content(int(first.head), first.trouble == "", first.trouble or "", rows)

    def joined(self) -> dict[int, Joined]:
        """Joins whose content is stored, or was until it outgrew the limits."""
        with self._database.read() as connection:
            return {number: Joined(*about) for number, *about in connection.execute(select(JOINED))}

    def sizes(self) -> dict[int, tuple[int, int]]:
        """Number of results and of characters of each content."""
        one = CONTENTS.c.subscription
        wanted = select(one, func.count(), func.sum(func.length(CONTENTS.c.row))).group_by(one)
        with self._database.read() as connection:
            return {int(number): (int(rows), int(size)) for number, rows, size in connection.execute(wanted)}

    def table(self, name: str, limit: int | None = None) -> StoredTable:
        """Rows of a table; with a limit, only the newest."""
        with self._database.read() as connection:
            its = select(TABLE_ARRIVALS).where(TABLE_ARRIVALS.c.table == name)
            about = connection.execute(its).one_or_none()
            newest = select(TABLE_ROWS.c.key, TABLE_ROWS.c.body).where(TABLE_ROWS.c.table == name)
            newest = newest.order_by(TABLE_ROWS.c.position.desc()).limit(limit)
            rows = [StoredRow(*row) for row in connection.execute(newest)][::-1]
        return StoredTable(rows, 0 if about is None else about.arrived, None if about is None else about.latest)

    def row_counts(self) -> dict[str, int]:
        """Number of rows of each table that has any."""
        wanted = select(TABLE_ROWS.c.table, func.count()).group_by(TABLE_ROWS.c.table)
        with self._database.read() as connection:
            return {name: int(count) for name, count in connection.execute(wanted)}


def write(connection: Connection, writes: JoinWrites) -> None:
    """Writes the changes, within the transaction under way."""
    _replace(connection, TABLE_ROWS, ("table", "key"), ("position", "body"), writes.rows)
    _replace(
        connection,
        TABLE_ARRIVALS,
        ("table",),
        ("arrived", "latest"),
        {(name,): counts for name, counts in writes.arrivals.items()},
    )
    for some in pieces(list(writes.joined)):
        connection.execute(delete(CONTENTS).where(CONTENTS.c.subscription.in_(some)))
    contents = {key: None if row is None else (row,) for key, row in writes.contents.items()}
    _replace(connection, CONTENTS, ("subscription", "result"), ("row",), contents)
    _replace(
        connection,
        JOINED,
        ("subscription",),
        Joined._fields,
        {(number,): joined for number, joined in writes.joined.items()},
    )


def _replace(
    connection: Connection,
    table: Table,
    key: tuple[str, ...],
    rest: tuple[str, ...],
    changed: Mapping[Any, tuple[Any, ...] | None],
) -> None:
    """Replaces the row of each key, or removes it for None."""
    if not changed:
        return
    keys: Iterable[Any] = changed
    named = [{f"its_{name}": part for name, part in zip(key, one, strict=True)} for one in keys]
    connection.execute(delete(table).where(*(table.c[name] == bindparam(f"its_{name}") for name in key)), named)
    rows = [dict(zip((*key, *rest), (*one, *more), strict=True)) for one, more in changed.items() if more is not None]
    if rows:
        connection.execute(insert(table), rows)


# Results of joins as JSON: ids, rows, and stored rows of tables read back.

_OPTIONS: Final = orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z


def result_id(result: Result) -> str:
    """Id of a result, a function of its rows' keys: a result that changes keeps it."""
    return "res_" + blake2b(orjson.dumps(result), digest_size=12).hexdigest()


def row_text(shown: Shown) -> str:
    """Result as JSON; bytes are base64, as in events."""
    return orjson.dumps(shown, default=_in_json, option=_OPTIONS).decode()


def changed_text(changes: Sequence[tuple[str, str, str]], *, begins: bool = False) -> str:
    """Changes of a notification as JSON: each `added` or `removed`, with the result's id and row.

    `begins`: earlier results, if any, are void.
    """
    listed = [{"change": change, "id": id, "row": orjson.Fragment(row)} for change, id, row in changes]
    return orjson.dumps([{"change": "begins"}, *listed] if begins else listed).decode()


def key_text(identity: Identity) -> str:
    """Key of a table's row, as JSON."""
    return orjson.dumps(identity).decode()


def read_table(stored: StoredTable, name: str, schema: Schema) -> TableRecord:
    """Table as it was written."""
    identities, batch = read_rows(stored.rows, schema)
    numbered = None if schema.tables[name].key else [int(str(identity[0])) for identity in identities]
    return TableRecord(batch, numbered, stored.arrived, stored.latest)


def read_rows(stored: Sequence[StoredRow], schema: Schema) -> tuple[list[Identity], pa.RecordBatch]:
    """Rows as they were written: their identities, and the events that changed them."""
    checked = schema.check_json(pa.array([row.body for row in stored], pa.string()), ignore_unknown=True)
    if len(checked.valid_rows) != len(stored):
        reasons = "; ".join(checked.violations["message"].to_pylist()[:3])
        raise StoreError(f"rows of tables in the store do not fit the schema: {reasons}")
    return [tuple(orjson.loads(row.key)) for row in stored], checked.valid


def _in_json(value: object) -> str:
    if isinstance(value, bytes):
        return write_base64(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
