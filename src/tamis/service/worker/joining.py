"""Join subscriptions in the pipeline process: tables in memory as the store has them, and each batch's effect on them.

The store is the truth: memory can be read from it again at any time. A step changes both, memory first; if the
transaction fails, memory is thrown away.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.joins.netting import ResultChange
from tamis.joins.server import JoinServer
from tamis.language import Limits
from tamis.matching.patterns.metering import metered
from tamis.pipeline.workers.charging import Charging
from tamis.schema import Schema
from tamis.service.base.configuration import Settings
from tamis.service.store import ChangeRow, Joined, JoinWrites, Opening, Owner, Store
from tamis.service.store.joins import changed_text, key_text, read_table, result_id, row_text
from tamis.service.store.store import FollowedSchema
from tamis.service.worker.messages import RefusedSubscription
from tamis.service.worker.suspending import Fairness

T = TypeVar("T")

TABLES: Final = 0  # the number under which the table of filters lets every change of a table through
_AT_ONCE: Final = 500  # subscriptions begun in one transaction, and results in one opening
_PAIRS: Final = pa.schema({"position": pa.int64(), "subscription": pa.int64(), "changes": pa.string()})


@dataclass(frozen=True, slots=True)
class Step:
    """Result of a batch's changes: pairs with their `changes`, refusals by place, and the writes for the store.

    `outgrown` are the subscriptions whose content is too large from now on.
    """

    pairs: pa.Table = field(default_factory=_PAIRS.empty_table)
    refused: dict[int, str] = field(default_factory=dict)
    writes: JoinWrites = field(default_factory=JoinWrites)
    outgrown: dict[int, str] = field(default_factory=dict)


class _Charging(Charging):
    """Charges the cost of join contents to their owners, in the process that suspends: no other process reads the desk.

    `excluded` are the subscriptions whose patterns may not have been run on all rows.
    """

    def __init__(self, server: JoinServer, fairness: Fairness) -> None:
        super().__init__(server, str(fairness.folder))
        self._fairness = fairness
        self.excluded: frozenset[int] = frozenset()

    def tell(self) -> None:
        super().tell()
        self.excluded |= self._fairness.left_out().union(map(int, self._left_out))


class Joining:
    """Tables and joins of a store, for the one process that matches its events.

    `take_over` begins; `settle` brings the joins up to those that the store has; a `step` takes a batch's changes. One
    thread at a time is let in, and stays until what it did is in the store.
    """

    def __init__(
        self,
        store: Store,
        refused: Callable[[RefusedSubscription], None],
        limits: Limits,
        content_rows: int,
        content_bytes: int,
        fairness: Fairness | None = None,
    ) -> None:
        self._store = store
        self._refused = refused
        self._limits = limits
        self._most = (content_rows, content_bytes)
        self._fairness = fairness
        self._entered = threading.RLock()
        self._owner: Owner | None = None
        self._sound = False
        self._served = FollowedSchema(store)
        self._server: JoinServer | None = None
        self._begun: dict[int, str] = {}
        self._stopped: set[int] = set()  # those that outgrew the limits, or cannot be read any more
        self._outdated: set[int] = set()  # those whose content has other columns than it should have by now
        self._sizes: dict[int, tuple[int, int]] = {}
        self._followed = 0

    @property
    def has_tables(self) -> bool:
        return bool(self._served.schema.tables)

    def take_over(self, owner: Owner | None = None) -> None:
        """Reads the store, once no other process changes it.

        `owner`: the log, if it is shared, and the stream that has it now. When another one has it, nothing is written.
        """
        with self._entered:
            self._owner, self._sound = owner, False
            self.settle()

    def settle(self) -> None:
        """Begins and ends joins as in the store: subscriptions acknowledged before this call are in force after it."""
        with self._entered:
            if self._served.refresh():
                self._sound = False
            if not self.has_tables:
                return
            if not self._sound:
                self._load()
            subscriptions = self._store.subscriptions
            if subscriptions.purged > self._followed:
                self._compare()
            elif subscriptions.revision > self._followed:
                self._follow()

    @contextmanager
    def step(self, bodies: pa.Array, positions: Int64s) -> Iterator[Step]:
        """Applies the changes of a batch, in order; the caller writes the step to the store."""
        with self._entered:
            server = self._ready()
            self._sound = False
            step = self._taken(server, bodies, positions)
            yield step
            self._sound = True
            self._pause(step.outgrown)

    def _taken(self, server: JoinServer, bodies: pa.Array, positions: Int64s) -> Step:
        checked = self._served.schema.check_json(bodies, ignore_unknown=True)
        applied = server.apply(checked.valid)
        rows = np.asarray(checked.valid_rows, np.int64)
        refused = {row["event"]: row["message"] for row in checked.violations.to_pylist()}
        refused |= {int(rows[one.event]): one.message for one in applied.refused}
        writes, texts = JoinWrites(), bodies.to_pylist()
        for change in server.row_changes(applied):
            row = int(rows[change.event])
            there = (int(positions[row]), texts[row]) if change.there else None
            writes.rows[change.table, key_text(change.identity)] = there
            writes.arrivals[change.table] = server.arrivals(change.table)
        with self._charged(server) as charging:
            changes = server.result_changes(applied)
        suspended = self._forget_excluded(charging, writes)
        changes = [change for change in changes if int(change.id) not in suspended]
        pairs = self._pairs(changes, positions[rows], writes)
        outgrown = self._outgrown({int(change.id) for change in changes})
        self._stop(outgrown, writes)
        return Step(pairs, refused, writes, outgrown)

    def _ready(self) -> JoinServer:
        if self._server is None or not self._sound:
            self._load()
        assert self._server is not None
        return self._server

    def _load(self) -> None:
        """Loads memory from the store, then applies subscriptions made and cancelled meanwhile."""
        joined = self._store.joins.joined()
        self._begun = {number: one.text for number, one in joined.items() if not one.trouble}
        self._stopped = joined.keys() - self._begun.keys()
        self._sizes = self._store.joins.sizes()
        server = JoinServer(self._served.schema, limits=self._limits)
        tables = {}
        for name in self._served.schema.tables:
            tables[name] = read_table(self._store.joins.table(name), name, self._served.schema)
        server.restore(tables, sequence=0)
        for id, _ in server.add({str(number): text for number, text in self._begun.items()}):
            del self._begun[int(id)]  # as if it were new: it is refused again then, and told
        # An attribute that a second table has got meanwhile is shown under another name.
        self._outdated = {number for number in self._begun if joined[number].columns != _columns(server, number)}
        self._server, self._sound = server, True
        self._compare()

    def _compare(self) -> None:
        """Compares all joins with the store's, so that those purged there end too."""
        purged, gone = self._store.subscriptions.purged, self._begun.keys() | self._stopped
        self._followed = 0
        for page in self._pages():
            gone -= {row.number for row in page}
            self._change(page)
        for some in _pieces(sorted(gone)):
            self._change([ChangeRow(0, number, None) for number in some])
        self._followed = max(self._followed, purged)

    def _follow(self) -> None:
        revision = self._store.subscriptions.revision
        for page in self._pages():
            self._change(page)
        # What is not a join has moved it too, and need not be looked at again.
        self._followed = max(self._followed, revision)

    def _pages(self) -> Iterable[list[ChangeRow]]:
        while page := self._store.subscriptions.join_changes(self._followed, _AT_ONCE):
            yield page
            self._followed = page[-1].revision

    def _change(self, rows: Sequence[ChangeRow]) -> None:
        """Begins and ends joins, in one transaction; unchanged ones stay."""
        server, writes = self._ready(), JoinWrites()
        changed = [row for row in rows if row.filter != self._begun.get(row.number) or row.number in self._outdated]
        new = {row.number: row for row in changed if row.filter is not None}
        gone = [row.number for row in changed if row.number in self._begun]
        self._sound = False
        self._forget(gone, writes)
        self._let_go({row.number for row in rows if row.filter is None} & self._stopped, writes)
        for id, error in server.add({str(number): str(row.filter) for number, row in new.items()}):
            self._refused(RefusedSubscription(int(id), str(error)))
            self._stopped.add(int(id))
            writes.joined[int(id)] = Joined("", "", f"it cannot be read: {error.message}")
        taken = {number: row for number, row in new.items() if str(number) in server}
        with self._charged(server) as charging:
            openings = [opening for row in taken.values() for opening in self._opened(row, writes)]
        suspended = self._forget_excluded(charging, writes)
        outgrown = self._outgrown(taken.keys() - suspended)
        self._stop(outgrown, writes)
        if writes or openings:
            told = [one for one in openings if one.subscription not in outgrown.keys() | suspended]
            self._store.joins.open(writes, told, self._owner)
        self._sound = True
        self._pause(outgrown)

    def _opened(self, row: ChangeRow, writes: JoinWrites) -> Iterable[Opening]:
        """Initial content of a join, as its first notifications."""
        assert self._server is not None
        results = [(result_id(result), row_text(one)) for result, one in self._server.results_of(str(row.number))]
        writes.joined[row.number] = Joined(str(row.filter), _columns(self._server, row.number))
        writes.contents.update({(row.number, id): text for id, text in results})
        self._begun[row.number] = str(row.filter)
        self._stopped.discard(row.number)
        self._sizes[row.number] = (len(results), sum(len(text) for _, text in results))
        # Nobody can hold anything of a subscription that is as it was made.
        anew = row.revision != row.number or row.number in self._outdated
        self._outdated.discard(row.number)
        parts = _pieces(results) or ([[]] if anew else [])
        for place, some in enumerate(parts):
            told = changed_text([("added", id, text) for id, text in some], begins=anew and place == 0)
            yield Opening(row.number, f"cnt_{uuid.uuid4().hex}", told)

    def _forget(self, numbers: Iterable[int], writes: JoinWrites) -> None:
        """Ends joins. Content that the step wrote for them is removed with them."""
        assert self._server is not None
        listed = set(numbers)
        self._server.remove([str(number) for number in listed])
        for number in listed:
            writes.joined[number] = None
            del self._begun[number]
            self._sizes.pop(number, None)
        for key in [key for key in writes.contents if key[0] in listed]:
            del writes.contents[key]

    def _stop(self, outgrown: dict[int, str], writes: JoinWrites) -> None:
        """Ends joins, and keeps the reason."""
        self._forget(outgrown, writes)
        self._stopped |= outgrown.keys()
        writes.joined.update({number: Joined("", "", trouble) for number, trouble in outgrown.items()})

    @contextmanager
    def _charged(self, server: JoinServer) -> Iterator[_Charging | None]:
        """Charges slow patterns, evaluated for results within, to the joins that hold them."""
        if self._fairness is None:
            yield None
            return
        charging = _Charging(server, self._fairness)
        with metered(charging):
            yield charging
        charging.tell()

    def _forget_excluded(self, charging: _Charging | None, writes: JoinWrites) -> frozenset[int]:
        """Ends joins whose patterns were left out, so that their contents are incomplete: resumed, they begin anew."""
        if charging is None:
            return frozenset()
        excluded = charging.excluded & self._begun.keys()
        self._forget(excluded, writes)
        return excluded

    def _let_go(self, stopped: set[int], writes: JoinWrites) -> None:
        """Forgets why joins were stopped, unless they are still paused."""
        known = self._store.subscriptions.by_number(sorted(stopped))
        over = {number for number in stopped if number not in known or known[number].state != "paused"}
        self._stopped -= over
        writes.joined.update(dict.fromkeys(over))

    def _pairs(self, changes: Sequence[ResultChange], positions: Int64s, writes: JoinWrites) -> pa.Table:
        told: dict[tuple[int, int], tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]] = {}
        for change in changes:
            number, id = int(change.id), result_id(change.result)
            removed, added = told.setdefault((int(positions[change.event]), number), ([], []))
            after = None if change.after is None else row_text(change.after)
            before = None if change.before is None else row_text(change.before)
            if before is not None:
                removed.append(("removed", id, before))
            if after is not None:
                added.append(("added", id, after))
            writes.contents[number, id] = after
            rows, size = self._sizes.get(number, (0, 0))
            rows += (after is not None) - (before is not None)
            self._sizes[number] = (rows, size + len(after or "") - len(before or ""))
        columns = (
            [position for position, _ in told],
            [number for _, number in told],
            [changed_text([*removed, *added]) for removed, added in told.values()],
        )
        return pa.table(dict(zip(_PAIRS.names, columns, strict=True)), schema=_PAIRS)

    def _outgrown(self, numbers: Iterable[int]) -> dict[int, str]:
        (most_rows, most_bytes), found = self._most, {}
        for number in numbers:
            rows, size = self._sizes.get(number, (0, 0))
            if rows > most_rows:
                found[number] = f"its content has more than {most_rows:,} rows; ask for less, and resume it"
            elif size > most_bytes:
                found[number] = f"its content has more than {most_bytes:,} bytes; ask for less, and resume it"
        return found

    def _pause(self, outgrown: dict[int, str]) -> None:
        """Pauses subscriptions. One that is still active when this process dies here outgrows its limits again."""
        for number, one in self._store.subscriptions.by_number(sorted(outgrown)).items():
            self._refused(RefusedSubscription(number, outgrown[number]))
            if one.state == "active":
                self._store.subscriptions.replace(one.id, state="paused")


def joining_of(
    settings: Settings, store: Store, refused: Callable[[RefusedSubscription], None], fairness: Fairness | None = None
) -> Joining:
    """Joins of a store, within the limits of the settings."""
    limits = settings.limits
    return Joining(store, refused, limits.filter, limits.content_rows, limits.content_bytes, fairness)


def _columns(server: JoinServer, number: int) -> str:
    return json.dumps(server.columns(str(number)))


def tables_filter(schema: Schema) -> str:
    """Filter that every change of a table satisfies, and no other event."""
    names = ", ".join("'" + name.replace("'", "''") + "'" for name in schema.tables)
    return f"event_type IN ({names})"


def _pieces(values: Sequence[T]) -> list[list[T]]:
    return [list(values[start : start + _AT_ONCE]) for start in range(0, len(values), _AT_ONCE)]
