"""Subscriptions that change while streams run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engine import Index, Operators
from tamis.errors import SubscriptionError, TamisError
from tamis.language import NO_OPERATORS, Bound, bind
from tamis.language.joins import BoundJoins, are_joins, bind_joins
from tamis.operators.statistics import OperatorTable
from tamis.pipeline.calling.crew import Crew
from tamis.pipeline.calling.learned_file import LEARNED
from tamis.pipeline.calling.ledger import Ledger
from tamis.pipeline.table.batch_versions import LOCK, NOTES, version_for
from tamis.pipeline.table.changes import apply_change, write_change
from tamis.pipeline.table.locks import locked
from tamis.pipeline.table.notes import Notes
from tamis.pipeline.table.snapshot import Snapshot
from tamis.pipeline.table.subscriptions import listed
from tamis.pipeline.table.versions import CURRENT, Newest, Versions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Every worker that starts applies the changes since the base one after the other: past this many a new base is made.
FOLD_VERSIONS = 500
FOLD_ROWS = 20_000
FOLD_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Change:
    """What came of a change: the version that has it, and what was refused, by subscription id."""

    version: int
    errors: list[tuple[str, TamisError]] = field(default_factory=list)


class SubscriptionTable:
    """Subscriptions in a folder, in versions: a writer makes the next one, and readers stay with the one they took.

    A crash at any moment leaves the version before a change or the one after it. Any number of processes may read and
    change the table; the folder's lock orders changes and notes, and matching takes no lock.
    """

    def __init__(self, path: str | Path, operators: Operators | None = None) -> None:
        """Opens a table. Operators that its filters call are handed over, or installed packages offer them."""
        self.path = Path(path)
        self._versions = Versions(self.path)
        self._notes = Notes(self.path / NOTES)
        self._at = self._versions.newest().base
        index = Index.open(self._versions.base(self._at), operators=operators)
        self.schema = index.schema
        self._operators = None if index.calling is None else index.calling.operators
        self._signatures = NO_OPERATORS if index.calling is None else index.calling.signatures
        self._ledger = None if index.calling is None else Ledger.at(self.path.resolve() / LEARNED)
        self._index: Index | None = self._followed(index)

    @classmethod
    def create(cls, path: str | Path, index: Index) -> SubscriptionTable:
        """A new table, whose version 1 is what the index holds now."""
        versions = Versions(Path(path))
        index.save(versions.create())
        versions.publish(Newest(version=1, base=1, rows=0))
        return cls(path, None if index.calling is None else index.calling.operators)

    @property
    def crew(self) -> Crew | None:
        """The operators that its filters may call, as workers get them; None where there are none."""
        if self._operators is None or self._ledger is None:
            return None
        return Crew.of(self._operators, str(self._ledger.path), self._ledger.name)

    @property
    def operators(self) -> OperatorTable:
        """How the operators fared in all workers that this process has started."""
        with self._locked():
            return self._current(self._versions.newest()).operators

    @property
    def version(self) -> int:
        """The newest version."""
        return self._versions.newest().version

    def __len__(self) -> int:
        with self._locked():
            return len(self._current(self._versions.newest()))

    def __contains__(self, id: object) -> bool:
        with self._locked():
            return id in self._current(self._versions.newest())

    @staticmethod
    def is_table(path: str | Path) -> bool:
        """Whether there is a table under this path."""
        return (Path(path) / CURRENT).exists()

    def index(self, version: int | None = None) -> Index:
        """A version as an index of the caller's own: the newest, unless said otherwise."""
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

        `add` is `{id: filter}` or a table with the columns id and filter; an id that is there already gets the new
        filter. What cannot be done (a filter that is refused, an id to remove that is not there) is reported by id and
        does not stop the rest. A change that comes to nothing makes no version.
        """
        added, errors = self._acceptable({} if add is None else add)
        with self._locked():
            newest = self._versions.newest()
            index = self._current(newest)
            removed = dict.fromkeys(id for id in added["id"].to_pylist() if id in index)
            for id in [remove] if isinstance(remove, str) else remove:
                if id in index:
                    removed[id] = None
                else:
                    errors.append((id, SubscriptionError(f"there is no subscription {id!r} to remove")))
            if removed or added.num_rows:
                newest = self._append(newest, index, list(removed), added)
        return Change(newest.version, errors)

    def snapshot(self, version: int | None = None) -> Snapshot:
        """What a worker needs to open a version: the newest, unless said otherwise."""
        return Snapshot(self.schema, (self._versions.part(self.version if version is None else version),), self.crew)

    def note(self, stream: str, batch: int) -> int:
        """The version that this micro-batch is to use: the newest, or on a replay the one it used first.

        It is on disk when this returns, and its files are kept at least until the stream notes its next batch.
        """
        return version_for(self.path, stream, batch)

    def streams(self) -> list[str]:
        """The streams, by query id, that hold on to the version of their last batch."""
        return self._notes.streams()

    def forget(self, stream: str) -> None:
        """Lets go of the version that a stream holds on to: for one that will never be resumed."""
        with self._locked():
            self._notes.forget(stream)

    def fold(self) -> None:
        """Makes the newest version a base of its own, so that workers open it without applying changes."""
        with self._locked():
            newest = self._versions.newest()
            self._fold(newest, self._current(newest))

    def sweep(self, after: timedelta = timedelta(hours=1)) -> None:
        """Deletes the files of versions that no replay may ask for.

        A batch query takes no note, and may still run on a version that was newest a moment ago: what was overtaken
        less than `after` ago stays.
        """
        with self._locked():
            self._versions.sweep({self.version} | self._notes.versions(), after)

    def _locked(self) -> AbstractContextManager[None]:
        return locked(self.path / LOCK)

    def _acceptable(
        self, add: Mapping[str, str] | pa.Table | DataFrame
    ) -> tuple[pa.Table, list[tuple[str, TamisError]]]:
        """What can be added, and why the rest cannot: known beforehand, so that a bad filter replaces no good one."""
        given = listed(add)
        ids, texts = given.rows["id"], given.rows["filter"]
        refused: dict[int, TamisError] = {}
        for rows, bound in self._bound(texts):
            refused |= {int(rows[row]): error for row, error in bound.errors}
        errors = [*given.refused, *((ids[row].as_py(), error) for row, error in refused.items())]
        if not refused:
            return given.rows, errors
        return given.rows.take(pa.array([row for row in range(len(ids)) if row not in refused], pa.int64())), errors

    def _bound(self, texts: pa.ChunkedArray) -> Iterator[tuple[npt.NDArray[np.int64], Bound | BoundJoins]]:
        """Filters, and joins where there are tables: which of the texts they are, and what they come to."""
        joins = are_joins(texts) if self.schema.tables else np.zeros(len(texts), np.bool_)
        for rows, binding in ((np.flatnonzero(~joins), self._filters), (np.flatnonzero(joins), self._joins)):
            if len(rows):
                yield rows, binding(texts if len(rows) == len(texts) else texts.take(pa.array(rows)))

    def _filters(self, texts: pa.ChunkedArray) -> Bound:
        return bind(texts, self.schema, operators=self._signatures)

    def _joins(self, texts: pa.ChunkedArray) -> BoundJoins:
        return bind_joins(texts, self.schema)

    def _append(self, newest: Newest, index: Index, removed: list[str], added: pa.Table) -> Newest:
        """Makes the next version, on disk first."""
        self._index = None  # neither version while it changes: after a failure it is opened anew
        version = newest.version + 1
        rows = write_change(self._versions.change(version), removed, added)
        newest = Newest(version, newest.base, newest.rows + rows)
        self._versions.publish(newest)
        index.remove(removed)
        index.add(added)
        self._index, self._at = index, version
        enough = newest.version - newest.base > FOLD_VERSIONS or newest.rows > max(FOLD_ROWS, FOLD_SHARE * len(index))
        return self._fold(newest, index) if enough else newest

    def _fold(self, newest: Newest, index: Index) -> Newest:
        if newest.base == newest.version:
            return newest
        index.save(self._versions.base(newest.version))
        folded = Newest(newest.version, newest.version, 0)
        self._versions.publish(folded)
        self._versions.sweep({folded.version} | self._notes.versions(), timedelta(hours=1))
        return folded

    def _followed(self, index: Index) -> Index:
        """The index, which is told from now on what workers learn."""
        if self._ledger is not None:
            self._ledger.follow(index)
        return index

    def _current(self, newest: Newest) -> Index:
        """The index of the newest version; another process may have gone on since it was last looked at."""
        index, at = self._index, self._at
        self._index = None
        if index is None or at < newest.base:
            base = self._versions.base(newest.base)
            index, at = self._followed(Index.open(base, verify=False, operators=self._operators)), newest.base
        for version in range(at + 1, newest.version + 1):
            apply_change(index, self._versions.change(version))
        self._index, self._at = index, newest.version
        return index
