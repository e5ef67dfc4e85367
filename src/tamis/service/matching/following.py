"""The table of subscriptions that follows the store."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa

from tamis.engine import compile as compile_index
from tamis.errors import IndexFileError, TamisError
from tamis.pipeline import SubscriptionTable
from tamis.pipeline.snapshot import Snapshot
from tamis.pipeline.table.durable import replace_durably
from tamis.schema import Schema
from tamis.service.matching.messages import Refusal
from tamis.service.matching.residuals import Residuals
from tamis.service.matching.schemas import current_schema, newer_schema
from tamis.service.store import Store

_APPLIED: Final = "applied.json"
_PAGE: Final = 50_000
# To compile a table anew takes a third of the time that it takes to add the same subscriptions page by page.
_MANY: Final = 100_000
_MANY_SHARE: Final = 0.5


class FollowingTable:
    """The store's active subscriptions, by number, under the store's newest schema.

    They are in a `SubscriptionTable` in `<folder>/<version of the schema>.<revision>`, built from the store as it was
    at that revision and kept up since. A new one is built when the schema grows, when very much changes at once, or
    when the store has removed what this one may still hold, because another service followed it meanwhile. All changes
    up to the revision `applied` are in it. That is noted on disk after the changes are: what a crash leaves unnoted is
    applied again, which changes nothing. Any thread may call; one at a time is let in.
    """

    def __init__(self, folder: Path, store: Store, refused: Callable[[Refusal], None]) -> None:
        self._folder = folder
        self._store = store
        self._refused = refused
        self._entered = threading.Lock()
        self.residuals = Residuals(store)
        self._version, schema = current_schema(store)
        self._table, self._applied = self._left(schema) or self._built(schema)

    @property
    def schema(self) -> Schema:
        return self._table.schema

    @property
    def applied(self) -> int:
        """The store's revision that the table is at."""
        return self._applied

    def newest(self) -> Snapshot:
        """The table as it is now."""
        with self._entered:
            return self._table.snapshot()

    def for_batch(self, stream: str, batch: int) -> Snapshot:
        """What a micro-batch is to match against: nothing that was acknowledged before this call is missing.

        A batch that is run again gets the version it had first, unless a new table was built since.
        """
        with self._entered:
            # First the schema: a filter that came with it is refused under the one before.
            grown = newer_schema(self._store, self._version)
            if grown is not None:
                self._version, schema = grown
                self._table, self._applied = self._built(schema)
            self._follow()
            self._clear()
            return self._table.snapshot(self._table.note(stream, batch))

    def catch_up(self) -> None:
        """Applies what has changed, so that the next micro-batch has less to wait for. May be called during one."""
        with self._entered:
            if newer_schema(self._store, self._version) is None:
                self._follow()

    def _follow(self) -> None:
        self._store.subscriptions.expire(datetime.now(UTC))
        behind = self._store.subscriptions.revision - self._applied
        if behind > _MANY and behind > _MANY_SHARE * len(self._table):
            self._table, self._applied = self._built(self.schema)
        before = self._applied
        for revision, changed in self._pages(before):
            self._apply(changed)
            _write(self._table.path / _APPLIED, revision)
            self._applied = revision
        # Asked afterwards: what is removed while changes are read is seen here too.
        if self._store.subscriptions.purged > before:
            self._table, self._applied = self._built(self.schema)

    def _pages(self, after: int) -> Iterator[tuple[int, dict[str, str | None]]]:
        """The changes after a revision: the revision reached, and filters by id; None for what is no longer matched."""
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

    def _left(self, schema: Schema) -> tuple[SubscriptionTable, int] | None:
        """The newest table for the schema that an earlier process left. What it says the store says too."""
        for folder in sorted(
            self._folder.glob(f"{self._version}.*"), key=lambda path: int(path.suffix[1:]), reverse=True
        ):
            applied = _read(folder / _APPLIED)
            # Another store, or an older copy of it, may have been put in place.
            if applied is None or applied > self._store.subscriptions.revision:
                continue
            with suppress(IndexFileError):
                table = SubscriptionTable(folder)
                if table.schema.to_dict() == schema.to_dict():
                    return table, applied
        return None

    def _built(self, schema: Schema) -> tuple[SubscriptionTable, int]:
        """A new table of what the store has."""
        # What was removed before now is not missed, even if it had the newest revision of all.
        revision, every = self._store.subscriptions.purged, dict[str, str | None]()
        for reached, changed in self._pages(0):
            revision = max(revision, reached)
            # What was active when its page was read may have ended before a later one was.
            every |= changed
        index = compile_index(_rows({id: text for id, text in every.items() if text is not None}), schema)
        self._report(index.errors)
        folder = self._folder / f"{self._version}.{revision}"
        shutil.rmtree(folder, ignore_errors=True)
        table = SubscriptionTable.create(folder, index)
        _write(folder / _APPLIED, revision)
        return table, revision

    def _clear(self) -> None:
        """Removes the tables before this one: between batches nobody uses them."""
        for folder in self._folder.iterdir():
            if folder != self._table.path:
                shutil.rmtree(folder)

    def _report(self, refused: Sequence[tuple[str, TamisError]]) -> None:
        for id, error in refused:
            self._refused(Refusal(int(id), str(error)))


def _rows(filters: dict[str, str]) -> pa.Table:
    return pa.table(
        {"id": pa.array(list(filters), pa.string()), "filter": pa.array(list(filters.values()), pa.string())}
    )


def _read(path: Path) -> int | None:
    """The revision noted; None if there is no note, because the process died before the table was complete."""
    try:
        return int(json.loads(path.read_bytes())["revision"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, revision: int) -> None:
    replace_durably(path, json.dumps({"revision": revision}).encode())
