"""Proof of join schemes: histories are played through each, and clients' contents compared with DuckDB after every
event."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import duckdb

from tamis.joins.arrivals import Values
from tamis.joins.client import ContentChange, JoinClient, Note
from tamis.joins.layout import JoinPlan
from tamis.joins.naive import NaiveJoins
from tamis.joins.schemes.scheme import SCHEMES
from tamis.joins.server import Applied, JoinServer
from tamis.language.joins import Signature
from tamis.schema import EVENT_TYPE, OPERATION, Table
from tamis.schema.checking import Checked
from tamis.testing.join_histories import VERSION, JoinHistory, join_history

# Reference: the tables of a history in a database, which runs the joins as they are written.

_TYPES = {"integer": "BIGINT", "float": "DOUBLE", "string": "VARCHAR", "timestamp": "TIMESTAMP"}


class DuckTables:
    """Tables of a history in DuckDB, by plain SQL.

    A row's version is the number of the event that put it, so the rows that changed last have the highest.
    """

    def __init__(self, history: JoinHistory, database: duckdb.DuckDBPyConnection) -> None:
        self._history = history
        self._database = database
        self._latest: dict[str, datetime] = {}
        schema = history.schema
        for table in schema.tables.values():
            columns = ", ".join(f"{name} {_TYPES[schema.attributes[name].domain.kind]}" for name in table.attributes)
            database.execute(f"CREATE OR REPLACE TABLE {table.name} ({columns})")
        self._queries = {}
        for id, text in history.texts.items():
            shown = ", ".join(f"{table}.{VERSION}" for table in history.tables[id])
            self._queries[id] = f"SELECT {shown} FROM {text.split(' FROM ', 1)[1]}"

    def apply(self, event: Mapping[str, Any]) -> bool:
        """Applies one change; False if the table cannot take it."""
        table = self._history.schema.tables[event[EVENT_TYPE]]
        operation = event.get(OPERATION)
        row = {name: event[name] for name in table.attributes if name in event}
        keyed = " AND ".join(f"{name} = ?" for name in table.key)
        key = [row[name] for name in table.key]
        there = bool(table.key) and self._one(f"SELECT count(*) FROM {table.name} WHERE {keyed}", key) > 0
        if (operation == "insert" and there) or (operation in ("update", "delete") and not there):
            return False
        if operation != "delete" and self._is_late(table, row):
            return False
        if there:
            self._database.execute(f"DELETE FROM {table.name} WHERE {keyed}", key)
        if operation != "delete":
            marks = ", ".join("?" for _ in row)
            self._database.execute(f"INSERT INTO {table.name} ({', '.join(row)}) VALUES ({marks})", list(row.values()))
            self._retain(table, row)
        return True

    def content(self, id: str) -> set[tuple[int, ...]]:
        """Versions of the rows of each result, in the schema's order of tables."""
        found = self._database.execute(self._queries[id]).fetchall()
        results = {tuple(row) for row in found}
        assert len(results) == len(found)
        return results

    def _is_late(self, table: Table, row: Mapping[str, Any]) -> bool:
        window, latest = table.retention.window, self._latest.get(table.name)
        return window is not None and latest is not None and _time(row) <= latest - timedelta(microseconds=window)

    def _retain(self, table: Table, row: Mapping[str, Any]) -> None:
        if table.retention.count is not None:
            newest = f"SELECT {VERSION} FROM {table.name} ORDER BY {VERSION} DESC LIMIT {table.retention.count}"
            self._database.execute(f"DELETE FROM {table.name} WHERE {VERSION} NOT IN ({newest})")
        if table.retention.window is not None:
            latest = self._latest[table.name] = max(_time(row), self._latest.get(table.name, _time(row)))
            bound = latest - timedelta(microseconds=table.retention.window)
            self._database.execute(f"DELETE FROM {table.name} WHERE moment <= ?", [bound])

    def _one(self, query: str, values: list[Any]) -> int:
        found = self._database.execute(query, values).fetchone()
        assert found is not None
        return int(found[0])


def _time(row: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(row["moment"].removesuffix("Z"))


Versions = set[tuple[int, ...]]


class ContentDiffersError(AssertionError):
    """Difference between a client's content and the database's; names the history, the scheme and the event."""


@dataclass
class Tally:
    """Counts of comparisons made."""

    histories: int = 0
    events: int = 0
    refused: int = 0
    contents: int = 0
    results: int = 0


@dataclass
class _Played:
    """Server of one scheme, with a client for each present subscription."""

    server: JoinServer
    clients: dict[str, JoinClient] = field(default_factory=dict)
    past: dict[str, list[Note]] = field(default_factory=lambda: defaultdict(list))
    shown: dict[str, Versions] = field(default_factory=dict)


def prove(seeds: Iterable[int], events: int = 20, schemes: Sequence[str] = tuple(SCHEMES)) -> Tally:
    """Plays the histories of these seeds through the schemes; `ContentDiffersError` at the first difference."""
    tally = Tally()
    with duckdb.connect() as database:
        database.execute("SET threads = 1")
        for seed in seeds:
            _Proof(join_history(seed, events), database, tally, schemes).play()
    return tally


class _Proof:
    """Proof of one history, all schemes side by side.

    Events come in batches of one to six. Between them subscriptions come and go, and clients start anew. Notes of one
    change are handed over in any order, and old ones again at any time.
    """

    def __init__(
        self, history: JoinHistory, database: duckdb.DuckDBPyConnection, tally: Tally, schemes: Sequence[str]
    ) -> None:
        self.history, self.tally = history, tally
        self.rng = random.Random(history.seed + 1)
        self.tables = DuckTables(history, database)
        self.naive = NaiveJoins(history.schema, history.texts)
        plan = self._plan()
        self.played = [_Played(JoinServer(history.schema, scheme=name, plan=plan)) for name in schemes]
        self.now: dict[str, Versions] = {id: set() for id in history.texts}

    def play(self) -> None:
        events = self.history.events
        self._subscribe([id for id in self.history.texts if self.rng.random() < 0.7])
        start = 0
        while start < len(events):
            stop = min(len(events), start + self.rng.randint(1, 6))
            contents, refused = self._expected(events[start:stop])
            checked = self.history.schema.check(self.history.schema.to_arrow(events[start:stop]))
            for played in self.played:
                self._apply(played, checked, contents, refused, start)
            self._between()
            start = stop
        self.tally.histories += 1
        self.tally.events += len(events)

    def _expected(self, events: list[dict[str, Any]]) -> tuple[list[dict[str, Versions]], list[int]]:
        """Contents after each event, by the database and by the oracle; and the events refused."""
        contents, refused = [], []
        for place, event in enumerate(events):
            taken = self.tables.apply(event)
            _, reasons = self.naive.apply([event])
            if taken is bool(reasons):
                raise ContentDiffersError(f"history {self.history.seed}: {event} is refused by one of two oracles")
            if not taken:
                refused.append(place)
            # What a join does not look at does not change it.
            asked = [id for id, tables in self.history.tables.items() if event[EVENT_TYPE] in tables]
            self.now = self.now | {id: self.tables.content(id) for id in asked}
            for id in asked:
                versions = self.now[id]
                if {_versions(rows) for rows in self.naive.content(id).values()} != versions:
                    raise ContentDiffersError(f"history {self.history.seed}: the oracles differ about {id}")
                self.tally.results += len(versions)
            contents.append(self.now)
        self.tally.refused += len(refused)
        return contents, refused

    def _apply(
        self,
        played: _Played,
        checked: Checked,
        contents: list[dict[str, Versions]],
        refused: list[int],
        start: int,
    ) -> None:
        server = played.server
        applied = server.apply_checked(checked)
        if [violation.event for violation in applied.refused] != refused:
            self._fail(server, start, "other events are refused")
        changed = server.notifications(applied) if server.scheme == "enum-j" else {}
        for id, client in played.clients.items():
            notes = _by_event(server.notes(applied, id), applied)
            for place in range(len(contents)):
                client.apply(self._spoilt(notes[place], played.past[id]))
                played.past[id] += notes[place]
                if {_versions(rows) for rows in client.results.values()} != contents[place][id]:
                    self._fail(server, start + place, f"the client of {id} holds something else")
                self.tally.contents += 1
            if server.scheme == "enum-j":
                self._told(played, id, changed.get(id, ContentChange([], [])), start + len(contents) - 1)

    def _told(self, played: _Played, id: str, change: ContentChange, event: int) -> None:
        """Checks that the server's own changes lead from content to content."""
        added, removed = ({self._shown(id, row) for row in rows} for rows in (change.added, change.removed))
        before = played.shown[id]
        if removed - before or added & (before - removed) or added & removed:
            self._fail(played.server, event, f"what is told of {id} is no change")
        played.shown[id] = (before - removed) | added
        if played.shown[id] != self.now[id]:
            self._fail(played.server, event, f"what is told of {id} leads elsewhere")

    def _between(self) -> None:
        there = sorted(self.played[0].clients)
        away = sorted(set(self.history.texts) - set(there))
        if away and self.rng.random() < 0.4:
            self._subscribe(self.rng.sample(away, 1))
        if there and self.rng.random() < 0.15:
            gone = self.rng.choice(there)
            for played in self.played:
                played.server.remove([gone])
                for kept in (played.clients, played.past, played.shown):
                    kept.pop(gone, None)
        elif there and self.rng.random() < 0.2:
            again = self.rng.choice(there)
            for played in self.played:
                played.clients[again].resync(played.server.snapshot(again))
                played.past[again] = []
                self._held(played, again)

    def _subscribe(self, ids: list[str]) -> None:
        for played in self.played:
            if played.server.add({id: self.history.texts[id] for id in ids}):
                raise ContentDiffersError(f"history {self.history.seed}: {played.server.errors[-1]}")
            for id in ids:
                played.clients[id] = played.server.client(id)
                played.shown[id] = self.now[id]
                self._held(played, id)
        for id in ids:
            if {self._shown(id, row) for row in self.played[0].server.content(id)} != self.now[id]:
                self._fail(self.played[0].server, -1, f"the server says something else of {id}")

    def _held(self, played: _Played, id: str) -> None:
        if {_versions(rows) for rows in played.clients[id].results.values()} != self.now[id]:
            self._fail(played.server, -1, f"the client of {id} starts with something else")

    def _spoilt(self, notes: list[Note], past: list[Note]) -> list[Note]:
        """Notes of one event in an order that the protocol allows, with repeats among them."""
        by_change: dict[int, list[Note]] = defaultdict(list)
        for note in notes:
            by_change[note.sequence].append(note)
        told = [note for _, own in sorted(by_change.items()) for note in self.rng.sample(own, len(own))]
        for repeated in self.rng.choices(past, k=2) if past else ():
            told.insert(self.rng.randint(0, len(told)), repeated)
        return told

    def _plan(self) -> JoinPlan:
        rng = self.rng
        chosen: dict[Signature, dict[str, str]] = {}

        def filters(signature: Signature) -> Mapping[str, str]:
            if signature not in chosen:
                chosen[signature] = {name: rng.choice(signature.neighbours(name)) for name in signature.tables}
            return chosen[signature]

        leading = {name: tuple(rng.sample(table.attributes, 2)) for name, table in self.history.schema.tables.items()}
        return JoinPlan(filters, leading, every_attribute=rng.random() < 0.3)

    def _shown(self, id: str, row: Mapping[str, Any]) -> tuple[int, ...]:
        return tuple(row[f"{table}.{VERSION}"] for table in self.history.tables[id])

    def _fail(self, server: JoinServer, event: int, what: str) -> None:
        raise ContentDiffersError(f"history {self.history.seed}, {server.scheme}, event {event}: {what}")


def _by_event(notes: list[Note], applied: Applied) -> dict[int, list[Note]]:
    found: dict[int, list[Note]] = defaultdict(list)
    messages = applied.messages
    for note in notes:
        first = int(messages.sequence[0] - messages.event[0])
        found[int(applied.event[note.sequence - first])].append(note)
    return found


def _versions(rows: Iterable[Values]) -> tuple[int, ...]:
    return tuple(row[VERSION][0] for row in rows)
