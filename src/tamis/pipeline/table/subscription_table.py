"""Subscription table: a versioned folder of subscriptions that change while streams run."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tamis.engine import Index, Operators
from tamis.errors import SubscriptionError, TamisError
from tamis.matching.taking_in import BoundSubscriptions, bound_subscriptions
from tamis.operators.health import OperatorTable
from tamis.pipeline.table.calling import LEARNED, Crew, Ledger
from tamis.pipeline.table.subscriptions import Snapshot, listed
from tamis.pipeline.table.versions import CURRENT, LOCK, Newest, Versions, apply_change, locked, write_change

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Every worker that starts applies the changes since the base in order: past this many a new base is made.
FOLD_VERSIONS = 500
FOLD_ROWS = 20_000
FOLD_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Change:
    """Result of a change: its version, and the refused subscriptions, by id."""

    version: int
    errors: list[tuple[str, TamisError]] = field(default_factory=list)


class SubscriptionTable:
    """Table of subscriptions in a folder, in versions: a writer makes the next one, and readers keep the one they took.

    A crash at any moment leaves the version before a change or the one after it. Any number of processes may read and
    change the table; the folder's lock orders changes and notes, and matching takes no lock.
    """

    def __init__(self, path: str | Path, operators: Operators | None = None) -> None:
        """Opens a table. Operators that its filters call are passed in, or installed packages offer them."""
        self.path = Path(path)
        self._versions = Versions(self.path)
        self._entered = threading.RLock()
        self._pending: Newest | None = None  # of a `together` that is not at its end
        self._at = self._versions.newest().base
        index = Index.open(self._versions.base(self._at), operators=operators)
        self.schema = index.schema
        self._limits, self._signatures = index.limits, index.signatures
        self._operators = None if index.calling is None else index.calling.operators
        self._ledger = None if index.calling is None else Ledger.at(self.path.resolve() / LEARNED)
        self._index: Index | None = self._followed(index)

    @classmethod
    def create(cls, path: str | Path, index: Index, note: Any = None) -> SubscriptionTable:
        """Creates a table, whose version 1 is what the index holds now. `note`: see `annotate`."""
        versions = Versions(Path(path))
        index.save(versions.create())
        versions.publish(Newest(version=1, base=1, rows=0, note=note))
        return cls(path, None if index.calling is None else index.calling.operators)

    @property
    def crew(self) -> Crew | None:
        """Operators that its filters may call, as workers get them; None without any."""
        if self._operators is None or self._ledger is None:
            return None
        return Crew.of(self._operators, str(self._ledger.path), self._ledger.name)

    @property
    def operators(self) -> OperatorTable:
        """Statistics of the operators in all workers that this process has started."""
        with self._locked() as newest:
            return self._current(newest).operators

    @property
    def version(self) -> int:
        """Newest version."""
        return self._versions.newest().version

    def __len__(self) -> int:
        with self._locked() as newest:
            return len(self._current(newest))

    def __contains__(self, id: object) -> bool:
        with self._locked() as newest:
            return id in self._current(newest)

    @staticmethod
    def is_table(path: str | Path) -> bool:
        """True if there is a table under this path."""
        return (Path(path) / CURRENT).exists()

    def index(self, version: int | None = None) -> Index:
        """Index of a version, of the caller's own: the newest by default."""
        (part,) = self.snapshot(version).parts
        index = Index.open(part.base, operators=self._operators)
        for change in part.changes:
            apply_change(index, change)
        return index

    def change(
        self,
        add: Mapping[str, str] | pa.Table | DataFrame | None = None,
        remove: Iterable[str] = (),
    ) -> Change:
        """Adds, replaces and removes subscriptions; streams see all of it from their next micro-batch on.

        `add` is `{id: filter}` or a table with the columns id and filter; an existing id gets the new filter. Refusals
        (an invalid filter, an unknown id to remove) are reported by id and do not stop the rest. A change without
        effect makes no version.
        """
        given = listed({} if add is None else add)
        # Read before the lock is taken, and once: a bad filter replaces no good one.
        bound = bound_subscriptions(given.rows, self.schema, self._limits, self._signatures)
        errors, added = [*given.refused, *bound.refused], bound.accepted()
        with self.together() as newest:
            index = self._current(newest)
            removed = dict.fromkeys(id for id in added.ids if id in index)
            for id in [remove] if isinstance(remove, str) else remove:
                if id in index:
                    removed[id] = None
                else:
                    errors.append((id, SubscriptionError(f"there is no subscription {id!r} to remove")))
            if removed or len(added):
                newest = self._pending = self._append(newest, index, list(removed), added)
        return Change(newest.version, errors)

    @contextmanager
    def together(self) -> Iterator[Newest]:
        """Makes changes and notes within durable and visible to others all at once at the end.

        If it ends with an exception, none of them happens.
        """
        with self._locked() as newest:
            if self._pending is not None:
                yield newest
                return
            self._pending = newest
            try:
                yield newest
                before, newest = newest, self._pending
                if newest is not before:
                    self._versions.publish(newest)
            except BaseException:
                self._index = None  # it may be ahead of what is on disk: it is opened anew
                raise
            finally:
                self._pending = None
            if newest.version > before.version and self._has_grown(newest):
                self._fold(newest, self._current(newest))

    def snapshot(self, version: int | None = None) -> Snapshot:
        """Snapshot from which a worker opens a version: the newest by default."""
        return Snapshot(self.schema, (self._versions.part(self.version if version is None else version),), self.crew)

    def note(self, stream: str, batch: int) -> int:
        """Version for this micro-batch: the newest, or on a replay the one it used first.

        The note is on disk when this returns, or when the `together` around it ends; its files are kept at least until
        the stream notes its next batch.
        """
        with self.together() as newest:
            noted = newest.noted(stream, batch)
            if noted is None:
                self._pending = newest.with_batch(stream, batch)
            return newest.version if noted is None else noted

    def annotate(self, note: Any) -> None:
        """Stores an annotation of the owner's with the newest version, as JSON."""
        with self.together() as newest:
            self._pending = replace(newest, note=note)

    def streams(self) -> list[str]:
        """Streams, by query id, that hold the version of their last batch."""
        return sorted(self._versions.newest().batches)

    def forget(self, stream: str) -> None:
        """Releases the version that a stream holds: for one that will never be resumed."""
        with self.together() as newest:
            if stream in newest.batches:
                left = {name: notes for name, notes in newest.batches.items() if name != stream}
                self._pending = replace(newest, batches=left)

    def fold(self) -> None:
        """Compacts the newest version into a base of its own, so that workers open it without applying changes."""
        with self._locked() as newest:
            self._fold(newest, self._current(newest))

    def sweep(self, after: timedelta = timedelta(hours=1)) -> None:
        """Deletes the files of versions that no replay may ask for.

        A batch query takes no note, and may still run on a version that was newest a moment ago: what was overtaken
        less than `after` ago stays.
        """
        with self._locked() as newest:
            self._versions.sweep(newest.needed, after)

    @contextmanager
    def _locked(self) -> Iterator[Newest]:
        """Holds the lock against other threads and processes; yields the newest version, perhaps not on disk yet."""
        with self._entered:
            if self._pending is not None:
                yield self._pending
            else:
                with locked(self.path / LOCK):
                    yield self._versions.newest()

    def _append(self, newest: Newest, index: Index, removed: list[str], added: BoundSubscriptions) -> Newest:
        """Makes the next version: its change file is on disk when this returns."""
        self._index = None  # neither version while it changes: after a failure it is opened anew
        version = newest.version + 1
        rows = write_change(self._versions.change(version), removed, added.texts())
        index.remove(removed)
        index.add(added)
        self._index, self._at = index, version
        return replace(newest, version=version, rows=newest.rows + rows)

    def _has_grown(self, newest: Newest) -> bool:
        """True if so much has changed since the base that workers should not have to apply it."""
        if newest.version - newest.base > FOLD_VERSIONS:
            return True
        return newest.rows > FOLD_ROWS and newest.rows > FOLD_SHARE * len(self._current(newest))

    def _fold(self, newest: Newest, index: Index) -> None:
        if newest.base == newest.version:
            return
        index.save(self._versions.base(newest.version))
        self._versions.publish(replace(newest, base=newest.version, rows=0))
        self._versions.sweep(newest.needed, timedelta(hours=1))

    def _followed(self, index: Index) -> Index:
        """Registers the index with the ledger, for what workers learn from now on."""
        if self._ledger is not None:
            self._ledger.follow(index)
        return index

    def _current(self, newest: Newest) -> Index:
        """Index of the newest version; another process may have made it since the last look."""
        index, at = self._index, self._at
        self._index = None
        if index is None or at < newest.base:
            base = self._versions.base(newest.base)
            index, at = self._followed(Index.open(base, verify=False, operators=self._operators)), newest.base
        for version in range(at + 1, newest.version + 1):
            apply_change(index, self._versions.change(version))
        self._index, self._at = index, newest.version
        return index
