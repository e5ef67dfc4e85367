"""Subscription table of the pipeline process: reopened or built anew, and kept in step with the store's subscriptions
and schema.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tamis.errors import IndexFileError, OperatorError, TamisError
from tamis.operators.health import Tally
from tamis.operators.learning import Seen
from tamis.pipeline import SubscriptionTable
from tamis.pipeline.table.calling import LEARNED, read_learned
from tamis.pipeline.table.subscriptions import Snapshot
from tamis.pipeline.table.versions import Versions
from tamis.schema import Schema
from tamis.service.base.offering import NOTHING, USUAL, Algorithms, Offering
from tamis.service.store import Store
from tamis.service.store.store import FollowedSchema
from tamis.service.worker.joining import TABLES, tables_filter
from tamis.service.worker.messages import Fared, RefusedSubscription
from tamis.service.worker.recording import Residuals

_APPLIED: Final = "applied.json"
_PAGE: Final = 50_000
# Share of changes above which a table is rebuilt: that takes a third of the time of adding the same subscriptions page
# by page.
_MANY: Final = 100_000
_MANY_SHARE: Final = 0.5


class FollowingTable:
    """The store's active subscriptions but for joins, by number, under the store's newest schema.

    Where the schema has tables, `TABLES` is subscribed too, to all that changes them: joins follow those events.

    They are in a `SubscriptionTable` in `<folder>/<version of the schema>.<revision>`, built from the store as it was
    at that revision and kept up since. A new one is built when the schema grows, when very much changes at once, or
    when the store has removed what this one may still hold, because another service followed it meanwhile. All changes
    up to the revision `applied` are in it. That is the table's annotation, which becomes durable together with them and
    with the note of the batch. Filters may call what is in the `offering`, and are matched by the `algorithms`; where
    these are others than the table was built with, a new one is built. Any thread may call; one at a time is let in.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        refused: Callable[[RefusedSubscription], None],
        offering: Offering = NOTHING,
        algorithms: Algorithms = USUAL,
    ) -> None:
        self._folder = folder
        self._store = store
        self._refused = refused
        self._offering = offering
        self._algorithms = algorithms
        self._counted: dict[str, Tally] = {}  # of operators, with the tables before this one
        self._entered = threading.Lock()
        self.residuals = Residuals(store)
        self._followed = FollowedSchema(store)
        self._table, self._applied = self._left() or self._built()
        self._version = self._followed.version  # of the schema that the table is built under

    @property
    def schema(self) -> Schema:
        return self._table.schema

    @property
    def applied(self) -> int:
        """Revision of the store that the table is at."""
        return self._applied

    def fared(self) -> dict[str, Fared]:
        """Health of the operators in the workers of this process, by name."""
        with self._entered:
            told = self._table.operators
            return {one.name: Fared.of(one).after(self._counted.get(one.name, Tally())) for one in told}

    def newest(self) -> Snapshot:
        """Table as it is now."""
        with self._entered:
            return self._table.snapshot()

    def for_batch(self, stream: str, batch: int) -> Snapshot:
        """Snapshot for a micro-batch: contains every change acknowledged before this call.

        A batch that is run again gets the version it had first, unless a new table was built since.
        """
        with self._entered:
            version = self._bring_up_to_date((stream, batch))
            return self._table.snapshot(version)

    def keep_up(self) -> None:
        """Applies all changes while no micro-batch runs, so that the first one need not wait."""
        with self._entered:
            self._bring_up_to_date()

    def catch_up(self) -> None:
        """Applies changes, so that the next micro-batch has fewer to wait for. May be called during one."""
        with self._entered:
            if self._is_newest():
                self._follow()

    def _is_newest(self) -> bool:
        """True if the table is built under the store's newest schema."""
        self._followed.refresh()
        return self._version == self._followed.version

    def _bring_up_to_date(self, batch: tuple[str, int] | None = None) -> int | None:
        # First the schema: a filter that came with it is refused under the one before.
        if not self._is_newest():
            self._renew()
        version = self._follow(batch)
        self._clear()
        return version

    def _follow(self, batch: tuple[str, int] | None = None) -> int | None:
        """Applies changes; returns the version that a batch is to use, where one is given."""
        self._store.subscriptions.expire(datetime.now(UTC))
        behind = self._store.subscriptions.revision - self._applied
        if behind > _MANY and behind > _MANY_SHARE * len(self._table):
            self._renew()
        before = revision = self._applied
        with self._table.together():
            for revision, changed in self._pages(before):
                self._apply(changed)
                self._table.annotate(self._annotation(revision))
            version = None if batch is None else self._table.note(*batch)
        self._applied = revision
        # Asked afterwards: what is removed while changes are read is seen here too.
        if self._store.subscriptions.purged > before:
            self._renew()
            version = None if batch is None else self._table.note(*batch)
        return version

    def _pages(self, after: int) -> Iterator[tuple[int, dict[str, str | None]]]:
        """Changes after a revision: the revision reached, and filters by id; None for removed ones."""
        while rows := self._store.subscriptions.changes(after, _PAGE):
            after = rows[-1].revision
            self.residuals.forget(row.number for row in rows)
            yield after, {str(row.number): row.filter for row in rows}
            if len(rows) < _PAGE:
                return

    def _apply(self, changed: dict[str, str | None]) -> None:
        added = {id: text for id, text in changed.items() if text is not None}
        removed = [id for id, text in changed.items() if text is None]
        outcome = self._table.change(add=_rows(added), remove=removed)
        # What is to be removed may be gone already: the change was applied before a crash, or it was never active.
        refused = [(id, error) for id, error in outcome.errors if id in added]
        if refused:
            self._table.change(remove=[id for id, _ in refused])
            self._report(refused)

    def _left(self) -> tuple[SubscriptionTable, int] | None:
        """Newest table for the schema that an earlier process left. It agrees with the store."""
        version, schema = self._followed.serving
        folders = self._folder.glob(f"{version}.*")
        for folder in sorted(folders, key=lambda path: int(path.suffix[1:]), reverse=True):
            with suppress(IndexFileError, OperatorError):
                applied, built_for = _read(folder)
                # Another store, or an older copy of it, may have been put in place.
                if applied is None or applied > self._store.subscriptions.revision:
                    continue
                if built_for != self._built_for():
                    continue
                table = SubscriptionTable(folder, self._offering.operators)
                if table.schema.to_dict() == schema.to_dict():
                    return table, applied
        return None

    def _built(self) -> tuple[SubscriptionTable, int]:
        """New table of the store's subscriptions."""
        version, schema = self._followed.serving
        # What was removed before now is not missed, even if it had the newest revision of all.
        revision, every = self._store.subscriptions.purged, dict[str, str | None]()
        for reached, changed in self._pages(0):
            revision = max(revision, reached)
            # What was active when its page was read may have ended before a later one was.
            every |= changed
        if schema.tables:
            every[str(TABLES)] = tables_filter(schema)
        texts = _rows({id: text for id, text in every.items() if text is not None})
        index = self._algorithms.compile(texts, schema, self._offering.operators)
        self._report(index.errors)
        if index.calling is not None:
            index.calling.start_from(self._learned())
        folder = self._folder / f"{version}.{revision}"
        shutil.rmtree(folder, ignore_errors=True)
        return SubscriptionTable.create(folder, index, self._annotation(revision)), revision

    def _renew(self) -> None:
        """Replaces the table by a new one."""
        for one in self._table.operators:
            self._counted[one.name] = self._counted.get(one.name, Tally()) + one.tally
        self._table, self._applied = self._built()
        self._version = self._followed.version

    def _learned(self) -> dict[str, Seen]:
        """Observations of operators in the newest table before."""
        files = sorted(self._folder.glob(f"*/{LEARNED}"), key=lambda path: path.stat().st_mtime_ns)
        return read_learned(files[-1]) if files else {}

    def _annotation(self, revision: int) -> dict[str, Any]:
        return {"revision": revision, **self._built_for()}

    def _built_for(self) -> dict[str, Any]:
        """Dependencies of a table besides the store.

        A filter that was refused for want of an operator may be accepted with another offering, and the other way
        round.
        """
        return {"operators": self._offering.versions, "algorithms": self._algorithms.noted()}

    def _clear(self) -> None:
        """Removes earlier tables: between batches nobody uses them."""
        for folder in self._folder.iterdir():
            if folder != self._table.path:
                shutil.rmtree(folder)

    def _report(self, refused: Sequence[tuple[str, TamisError]]) -> None:
        for id, error in refused:
            self._refused(RefusedSubscription(int(id), str(error)))


def _rows(filters: dict[str, str]) -> pa.Table:
    return pa.table(
        {"id": pa.array(list(filters), pa.string()), "filter": pa.array(list(filters.values()), pa.string())}
    )


def _read(folder: Path) -> tuple[int | None, dict[str, Any]]:
    """Revision that a table is at, and its dependencies; None without a note, because the process died before the table
    was complete. A note without dependencies is of a table for the default algorithms.
    """
    try:
        # Tamis 0.1 has the note in a file of its own.
        noted = dict(Versions(folder).newest().note or json.loads((folder / _APPLIED).read_bytes()))
        revision = int(noted.pop("revision"))
        return revision, {"operators": {}, "algorithms": USUAL.noted()} | noted
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None, {}
