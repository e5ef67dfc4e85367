"""Index sources for workers: an index, a saved folder, shards or a subscription table, saved and turned into a
snapshot.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from tamis.durable import replace_durably
from tamis.engine import Index, Operators
from tamis.engine import compile as compile_index
from tamis.errors import IndexFileError, PipelineError, TamisError
from tamis.matching.base.statistics import Statistics
from tamis.matching.matchers import Choice
from tamis.operators.health import OperatorTable
from tamis.operators.part import CallingPart
from tamis.pipeline.compile import bind_frame, build, calling_part
from tamis.pipeline.table.calling import LEARNED, Crew, Ledger, write_learned
from tamis.pipeline.table.subscription_table import SubscriptionTable
from tamis.pipeline.table.subscriptions import Part, Snapshot, require_columns
from tamis.pipeline.table.versions import CURRENT, Live
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Shards: an index too large for one worker's memory, cut into parts, which workers open one at a time.

SHARDS = "shards.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Shards:
    """Folder of saved indexes that share no subscription: `shards.json` names them, and is written last."""

    path: Path
    schema: Schema
    names: tuple[str, ...]
    crew: Crew | None = None

    @classmethod
    def open(cls, path: str | Path, operators: Operators | None = None) -> Shards:
        """Opens the shards in a folder, after verifying their checksums. Operators are passed in, or installed packages
        offer them.
        """
        folder = Path(path)
        try:
            about = json.loads((folder / SHARDS).read_text(encoding="utf-8"))
            written, names = about["format"], tuple(about["shards"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexFileError(f"{folder} holds no shards, or not all of them: {error}; cut them again") from error
        if written > FORMAT:
            raise IndexFileError(f"{folder} was written by a newer Tamis (format {written})")
        schemas: set[Schema] = set()
        calling: CallingPart | None = None
        for name in names:
            index = Index.open(folder / name, operators=operators)
            schemas.add(index.schema)
            calling = index.calling
        if len(schemas) != 1:
            raise IndexFileError(f"the shards in {folder} differ in their schemas; cut them again")
        crew = None
        if calling is not None:
            ledger = Ledger.at(folder.resolve() / LEARNED)
            crew = Crew.of(calling.operators, str(ledger.path), ledger.name)
        return cls(folder, schemas.pop(), names, crew)

    def __len__(self) -> int:
        return len(self.names)

    def snapshot(self) -> Snapshot:
        """Snapshot from which a worker opens them."""
        return Snapshot(self.schema, tuple(Part(str((self.path / name).resolve())) for name in self.names), self.crew)

    @property
    def operators(self) -> OperatorTable:
        """Statistics of the operators in all workers that this process has started."""
        if self.crew is None:
            return OperatorTable([])
        return Ledger.at(Path(self.crew.learned)).statistics(self.crew.unpacked(), self.schema)


class Cut(NamedTuple):
    """Result of `shard`: the shards, and the refused subscriptions, by id."""

    shards: Shards
    errors: list[tuple[str, TamisError]]


def shard(
    subscriptions: Index | DataFrame,
    path: str | Path,
    shards: int,
    schema: Schema | None = None,
    statistics: Statistics | None = None,
    operators: Operators | None = None,
    schedule: str = "adaptive",
    matcher: str = "columnar",
    options: Mapping[str, Any] | None = None,
) -> Cut:
    """Cuts subscriptions into several indexes under a new folder; `match` takes the result as it takes an index.

    `subscriptions` is an index, or a DataFrame with the columns id and filter (then `schema` is needed), of which only
    one shard's part is on the driver at a time, and whose filters may call the `operators`. Shards of an index have its
    matcher and its schedule; those of a DataFrame the `matcher`, `options` and `schedule` given.
    """
    folder = Path(path)
    if shards < 1:
        raise PipelineError(f"{shards} shards hold no subscriptions; one or more are needed")
    if (folder / SHARDS).exists():
        raise PipelineError(f"{folder} holds shards already; cut into a new folder")
    names = tuple(f"shard-{number:04}" for number in range(shards))
    errors: list[tuple[str, TamisError]] = []
    if isinstance(subscriptions, Index):
        pieces = _pieces_of_index(subscriptions, shards, statistics)
        operators = None if subscriptions.calling is None else subscriptions.calling.operators
    else:
        operators = None if operators is None else list(operators)
        pieces = _pieces(subscriptions, shards, schema, statistics, operators, schedule, Choice.of(matcher, options))
    for name, (index, refused) in zip(names, pieces, strict=True):
        index.save(folder / name)
        errors += refused
    about = {"format": FORMAT, "shards": names}
    replace_durably(folder / SHARDS, json.dumps(about).encode())
    if isinstance(subscriptions, Index) and subscriptions.calling is not None:
        write_learned(folder / LEARNED, subscriptions.calling.known())
    return Cut(Shards.open(folder, operators), errors)


def _pieces_of_index(
    index: Index, shards: int, statistics: Statistics | None
) -> Iterator[tuple[Index, Sequence[tuple[str, TamisError]]]]:
    ids, calling, choice = index.ids().to_pylist(), index.calling, Choice.behind(index.matcher)
    operators, schedule = (None, "adaptive") if calling is None else (calling.operators, calling.schedule)
    for number in range(shards):
        piece = {id: index.text(id) for id in ids[number::shards]}
        shard = compile_index(
            piece,
            index.schema,
            choice.matcher,
            statistics,
            options=choice.options,
            operators=operators,
            schedule=schedule,
        )
        yield shard, []


def _pieces(
    subscriptions: DataFrame,
    shards: int,
    schema: Schema | None,
    statistics: Statistics | None,
    operators: Operators | None,
    schedule: str,
    choice: Choice,
) -> Iterator[tuple[Index, Sequence[tuple[str, TamisError]]]]:
    if schema is None:
        raise PipelineError("to cut a DataFrame of subscriptions into shards, its schema is needed: schema=…")
    require_columns(subscriptions.columns)
    texts = subscriptions.selectExpr("id", "filter", f"pmod(xxhash64(id), {shards}) shard").persist()
    try:
        for number in range(shards):
            calling = calling_part(operators, schema, statistics, schedule, choice)
            rows, bound, refused = bind_frame(texts.where(f"shard = {number}"), schema, calling)
            index = build(rows, bound, schema, statistics, calling, choice)
            yield index, [*refused, *index.errors]
    finally:
        texts.unpersist()


Subscribed = Index | Shards | SubscriptionTable | str | Path

FOLDER = "spark.tamis.folder"

# Saved versions: an index is saved once a version, however often it is used.
_SAVED: WeakKeyDictionary[Index, tuple[object, str]] = WeakKeyDictionary()
_LEDGERS: WeakKeyDictionary[Index, Ledger] = WeakKeyDictionary()


def opened_source(subscriptions: Subscribed, operators: Operators | None = None) -> Index | Shards | SubscriptionTable:
    """Opens the index under a path, with these operators and those that installed packages offer; returns anything else
    as it is.
    """
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
    """Snapshot of the subscriptions as they are now. An index in memory is saved first, under `folder`, which all
    workers see.
    """
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
    """Operators of an index, with one ledger and one file of observations, however often the index changes."""
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
    """Source for a stream: versions of a table are taken batch by batch, everything else stays as it is now."""
    source = opened_source(subscriptions, operators)
    if isinstance(source, SubscriptionTable):
        return Live(source.schema, str(source.path.resolve()), source.crew)
    return snapshot_of(source, session, folder)


def shared_folder(session: SparkSession, given: str | Path | None) -> Path:
    """Folder named here or in the session's settings, or a temporary one where all workers are on this machine."""
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
