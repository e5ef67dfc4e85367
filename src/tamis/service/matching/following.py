"""The table of subscriptions that follows the store."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
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


class FollowingTable:
    """The store's active subscriptions, by number, under the store's newest schema.

    Each version of the schema has a `SubscriptionTable` of its own in `<folder>/<version>`, of which only the newest is
    kept up. All changes of the store up to the revision `applied` are in it. The revision is noted on disk after the
    changes are: what a crash leaves unnoted is applied again, which changes nothing. Any thread may call; one at a time
    is let in.
    """

    def __init__(self, folder: Path, store: Store, refused: Callable[[Refusal], None]) -> None:
        self._folder = folder
        self._store = store
        self._refused = refused
        self._entered = threading.Lock()
        self.residuals = Residuals(store)
        self._version, schema = current_schema(store)
        self._table, self._applied = self._opened(schema)

    @property
    def schema(self) -> Schema:
        return self._table.schema

    @property
    def applied(self) -> int:
        """The store's revision that the table is at."""
        return self._applied

    def for_batch(self, stream: str, batch: int) -> Snapshot:
        """What a micro-batch is to match against: nothing that was acknowledged before this call is missing.

        A batch that is run again gets the version it had first, unless the schema has changed since.
        """
        with self._entered:
            # First the schema: a filter that came with it is refused under the one before.
            grown = newer_schema(self._store, self._version)
            if grown is not None:
                self._version, schema = grown
                self._table, self._applied = self._opened(schema)
            self._follow()
            return self._table.snapshot(self._table.note(stream, batch))

    def catch_up(self) -> None:
        """Applies what has changed, so that the next micro-batch has less to wait for. May be called during one."""
        with self._entered:
            # The table of the schema before is in use until the next batch.
            if newer_schema(self._store, self._version) is None:
                self._follow()

    def _follow(self) -> None:
        self._store.subscriptions.expire(datetime.now(UTC))
        for revision, changed in self._pages(self._applied):
            self._apply(changed)
            self._note(revision)

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

    def _opened(self, schema: Schema) -> tuple[SubscriptionTable, int]:
        """The table for a schema as it was left, or a new one."""
        folder = self._folder / str(self._version)
        if SubscriptionTable.is_table(folder):
            try:
                table, applied = SubscriptionTable(folder), _read(folder / _APPLIED)
                # Another store, or an older copy of it, may have been put in place.
                if applied <= self._store.subscriptions.revision and table.schema.to_dict() == schema.to_dict():
                    return table, applied
            except IndexFileError:
                # It says nothing that the store does not say too.
                pass
            shutil.rmtree(folder)
        return self._built(folder, schema)

    def _built(self, folder: Path, schema: Schema) -> tuple[SubscriptionTable, int]:
        revision, every = 0, dict[str, str]()
        for reached, changed in self._pages(0):
            revision = reached
            every |= {id: text for id, text in changed.items() if text is not None}
        index = compile_index(_rows(every), schema)
        self._report(index.errors)
        table = SubscriptionTable.create(folder, index)
        _write(folder / _APPLIED, revision)
        for older in self._folder.iterdir():
            if older.name.isdecimal() and older != folder:
                shutil.rmtree(older)
        return table, revision

    def _note(self, revision: int) -> None:
        _write(self._folder / str(self._version) / _APPLIED, revision)
        self._applied = revision

    def _report(self, refused: Sequence[tuple[str, TamisError]]) -> None:
        for id, error in refused:
            self._refused(Refusal(int(id), str(error)))


def _rows(filters: dict[str, str]) -> pa.Table:
    return pa.table(
        {"id": pa.array(list(filters), pa.string()), "filter": pa.array(list(filters.values()), pa.string())}
    )


def _read(path: Path) -> int:
    """The revision noted; the first if the note is lost, which applies everything again."""
    try:
        return int(json.loads(path.read_bytes())["revision"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _write(path: Path, revision: int) -> None:
    replace_durably(path, json.dumps({"revision": revision}).encode())
