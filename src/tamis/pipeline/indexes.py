"""Subscriptions as the user has them (an index, a folder, shards, a table) made ready for workers to open."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tamis.engine import Index, Operators
from tamis.errors import PipelineError
from tamis.pipeline.calling.ledger import LEARNED, Crew, Ledger
from tamis.pipeline.shards import SHARDS, Shards
from tamis.pipeline.table.subscription_table import SubscriptionTable
from tamis.pipeline.table.subscriptions import Part, Snapshot
from tamis.pipeline.table.versions import CURRENT, Live

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Subscribed = Index | Shards | SubscriptionTable | str | Path

FOLDER = "spark.tamis.folder"

# An index is saved once a version, however often it is used.
_SAVED: WeakKeyDictionary[Index, tuple[object, str]] = WeakKeyDictionary()
_LEDGERS: WeakKeyDictionary[Index, Ledger] = WeakKeyDictionary()


def opened_source(subscriptions: Subscribed, operators: Operators | None = None) -> Index | Shards | SubscriptionTable:
    """Index under a path, with these operators and those that installed packages offer; anything else as it is."""
    if not isinstance(subscriptions, str | Path):
        if operators is not None:
            raise PipelineError(
                f"{subscriptions!r} has its operators already; operators= is for what lies under a path"
            )
        return subscriptions
    folder = Path(subscriptions)
    if (folder / SHARDS).exists():
        return Shards.open(folder, operators)
    if (folder / CURRENT).exists():
        return SubscriptionTable(folder, operators)
    index = Index.open(folder, operators=operators)
    path = folder.resolve()
    _SAVED[index] = (index.version, str(path))
    if index.calling is not None:
        _LEDGERS[index] = Ledger.at(path / LEARNED)
    return index


def snapshot_of(
    subscriptions: Subscribed,
    session: SparkSession,
    folder: str | Path | None = None,
    operators: Operators | None = None,
) -> Snapshot:
    """The subscriptions as they are now. An index in memory is saved first, under `folder`, which all workers see."""
    source = opened_source(subscriptions, operators)
    if not isinstance(source, Index):
        return source.snapshot()
    version, path = _SAVED.get(source, (None, ""))
    if version != source.version or not Path(path).exists():
        path = str(shared_folder(session, folder) / uuid.uuid4().hex)
        source.save(path)
        _SAVED[source] = (source.version, path)
    return Snapshot(source.schema, (Part(path),), _crew(source, path))


def _crew(index: Index, path: str) -> Crew | None:
    """The operators of an index. It has one ledger, and one file of what was learned, however often it changes."""
    if index.calling is None:
        return None
    ledger = _LEDGERS.get(index)
    if ledger is None:
        ledger = _LEDGERS[index] = Ledger(path, Path(path) / LEARNED)
    if not ledger.path.parent.exists():  # an older version's folder, which somebody deleted
        ledger.path = Path(path) / LEARNED
    ledger.follow(index)
    return Crew.of(index.calling.operators, str(ledger.path), ledger.name)


def live(
    subscriptions: Subscribed,
    session: SparkSession,
    folder: str | Path | None = None,
    operators: Operators | None = None,
) -> Snapshot | Live:
    """For a stream: a table's versions are taken batch by batch, everything else stays as it is now."""
    source = opened_source(subscriptions, operators)
    if isinstance(source, SubscriptionTable):
        return Live(source.schema, str(source.path.resolve()), source.crew)
    return snapshot_of(source, session, folder)


def shared_folder(session: SparkSession, given: str | Path | None) -> Path:
    """The folder named here or in the session's settings, or a temporary one where all workers are on this machine."""
    named = given or session.conf.get(FOLDER, None)
    if named is not None:
        folder = Path(named).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    master = session.sparkContext.master
    if not str(master).startswith("local"):
        raise PipelineError(
            f"the workers of {master} must see the index: name a folder they share, as folder='…' or in {FOLDER}"
        )
    folder = Path(tempfile.mkdtemp(prefix="tamis-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
