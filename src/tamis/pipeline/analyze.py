"""Analysis of large subscription sets on Spark: duplicates, covers, costs, and matches in a long history."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.analysis import Analysis
from tamis.analysis.subscription_set import History, analyze_level, one_level
from tamis.arrays import Int64s
from tamis.engine import Index
from tamis.errors import PipelineError, TamisError
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.files import write_arrays
from tamis.matching.columnar.level import ColumnarLevel
from tamis.pipeline.backtest import backtest
from tamis.pipeline.compile import bind_frame, build
from tamis.pipeline.events import statistics as statistics_of
from tamis.pipeline.frames import mapped
from tamis.pipeline.indexes import Shards, Subscribed, opened_source, shared_folder
from tamis.pipeline.table.subscription_table import SubscriptionTable
from tamis.pipeline.table.subscriptions import listed
from tamis.pipeline.workers.jobs import ASKED, CANDIDATES, COVERED, LEFT, THEIRS, Covering
from tamis.routing.covering.search.corners import Corners
from tamis.routing.covering.search.covers import CoverPairs, compare_here
from tamis.routing.covering.search.ground import Ground
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Search for covers by Spark's workers: each looks up a share of the filters in an index that all of them map.


_FEW = 20_000  # filters that are looked up sooner than a job is started
_A_TASK = 20_000
_TASKS_A_CORE = 4


class SparkCompare:
    """Comparison of filters: on Spark where it is worth a job, else in this process. Files go to a folder that all
    workers see.
    """

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self._session, self._folder = session, folder
        self._numbers = count()
        self._saved: tuple[Ground, Path] | None = None

    def __call__(self, ground: Ground, index: Corners, theirs: Int64s, most: int) -> CoverPairs:
        from pyspark.sql.types import IntegerType, LongType, StructField

        if len(theirs) <= _FEW:
            return compare_here(ground, index, theirs, most)
        round_ = next(self._numbers)
        index_path, theirs_path = (self._folder / f"{name}-{round_}.tamis" for name in ("corners", "theirs"))
        index.save(index_path)
        write_arrays(theirs_path, {THEIRS: theirs}, {})
        cores = self._session.sparkContext.defaultParallelism
        tasks = max(1, min(cores * _TASKS_A_CORE, -(-len(theirs) // _A_TASK)))
        ends = np.linspace(0, len(theirs), tasks + 1).astype(np.int64)
        pieces = pa.table({"start": ends[:-1], "stop": ends[1:]})
        shares = self._session.createDataFrame(pieces).repartitionByRange(tasks, "start")
        worker = Covering(str(self._ground(ground)), str(index_path), str(theirs_path), max(1, most // tasks))
        kinds = (IntegerType(), LongType(), LongType())
        fields = [StructField(name, kind) for name, kind in zip(("kind", "class", "other"), kinds, strict=True)]
        answer = mapped(shares, ["start", "stop"], worker.run, fields).toArrow()
        kind, classes, others = (np.asarray(answer.column(name)) for name in ("kind", "class", "other"))
        pairs = np.stack([classes, others], axis=1)
        return CoverPairs(
            pairs[kind == COVERED], pairs[kind == ASKED], classes[kind == LEFT], int(classes[kind == CANDIDATES].sum())
        )

    def _ground(self, ground: Ground) -> Path:
        """Folder of the files of this search."""
        if self._saved is None or self._saved[0] is not ground:
            path = self._folder / f"ground-{uuid.uuid4().hex}.tamis"
            ground.save(path)
            self._saved = ground, path
        return self._saved[1]


def analyze(
    subscriptions: Subscribed | Mapping[str, str] | pa.Table | DataFrame,
    schema: Schema | None = None,
    *,
    history: DataFrame | None = None,
    statistics: Statistics | None = None,
    folder: str | Path | None = None,
) -> Analysis:
    """Analyses subscriptions as a whole, as `tamis.analyze` does: a DataFrame or table with the columns id and filter,
    or `{id: filter}`, with a `schema`; or an index in any form that `match` takes.

    Workers parse the texts, look for covers and match the `history`; what they share is mapped into memory from under
    `folder`, which all of them must see (on a local master it may be left out). Costs are expected under the
    `statistics`, which are taken from the history if there is one.
    """
    session = _session(subscriptions, history)
    indexes, refused = _indexes(subscriptions, schema, session)
    under = indexes[0].schema
    level = one_level(indexes)
    if history is not None and statistics is None:
        statistics = statistics_of(history, under)
    past = History() if history is None else _look_back(level, indexes, history, folder)
    shared = shared_folder(session, folder) / f"analysis-{uuid.uuid4().hex}"
    shared.mkdir()
    try:
        return analyze_level(level, under, past, statistics, refused, SparkCompare(session, shared))
    finally:
        shutil.rmtree(shared, ignore_errors=True)


def _indexes(
    subscriptions: Subscribed | Mapping[str, str] | pa.Table | DataFrame, schema: Schema | None, session: SparkSession
) -> tuple[list[Index], list[tuple[str, TamisError]]]:
    """Index of the subscriptions, or one per shard; and the refused subscriptions."""
    if isinstance(subscriptions, Subscribed):
        source = opened_source(subscriptions)
        if isinstance(source, Shards):
            operators = None if source.crew is None else source.crew.unpacked()
            return [Index.open(source.path / name, operators=operators) for name in source.names], []
        return [source.index() if isinstance(source, SubscriptionTable) else source], []
    if schema is None:
        raise PipelineError("subscriptions in the form of texts need the schema they are written for: schema=…")
    refused: list[tuple[str, TamisError]] = []
    if isinstance(subscriptions, Mapping | pa.Table | pa.RecordBatch):
        given = listed(subscriptions)
        refused += given.refused
        subscriptions = session.createDataFrame(given.rows)
    rows, bound, more = bind_frame(subscriptions, schema)
    index = build(rows, bound, schema, None)
    return [index], [*refused, *more, *index.errors]


def _look_back(level: ColumnarLevel, indexes: list[Index], history: DataFrame, folder: str | Path | None) -> History:
    """Number of matches of each subscription, counted by the workers."""
    counts, events = np.zeros(len(level.names), np.int64), 0
    for index in indexes:
        found = backtest(history, index, samples=0, folder=folder)
        try:
            totals = found.totals.select("subscription", "matches").toArrow()
            events = found.events
        finally:
            found.close()
        numbers = pc.index_in(totals["subscription"].combine_chunks(), level.names.ids.cast(pa.string()))
        known = numbers.is_valid()  # those that call operators are in no level
        counts[np.asarray(numbers.drop_null())] = np.asarray(totals["matches"].filter(known))
    return History(events, counts)


def _session(subscriptions: object, history: DataFrame | None) -> SparkSession:
    """Session of the given frames, else the running one."""
    from pyspark.sql import SparkSession

    frame = history if history is not None else subscriptions
    session = getattr(frame, "sparkSession", None) or SparkSession.getActiveSession()
    if session is None:
        raise PipelineError("there is no Spark session: start one with pipeline.session(), or use tamis.analyze")
    assert isinstance(session, SparkSession)
    return session
