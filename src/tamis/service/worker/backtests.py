"""Backtests in the pipeline process, beside the stream: matches or joined results over time with samples of them, and
the thread that runs queued jobs.
"""

from __future__ import annotations

import threading
import traceback
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tamis import pipeline
from tamis.engine import Operators
from tamis.errors import PipelineError, TamisError
from tamis.eventlog import EventLog
from tamis.joins.server import JoinServer
from tamis.language.joins import are_joins
from tamis.pipeline.sources import read_log
from tamis.pipeline.workers.jobs import EVENTS, MATCHES, SAMPLE
from tamis.schema import Schema
from tamis.service.base.events import published_event
from tamis.service.base.offering import NOTHING, Offering
from tamis.service.store import Backtest, Store
from tamis.service.store.joins import row_text
from tamis.service.store.store import FollowedSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Backtest of a filter over the event log.

_ID: Final = "it"
_SAMPLES: Final = 5
_MOST_SAMPLES: Final = 50
_WINDOWS: Final = 120
# Window widths that read well on an axis, in seconds.
_WIDTHS: Final = (1, 5, 15, 60, 300, 900, 3_600, 10_800, 43_200, 86_400, 604_800)


@dataclass(frozen=True, slots=True)
class Asked:
    """Request for a backtest. Events received from `since` to before `until` are evaluated."""

    filter: str
    since: datetime | None
    until: datetime
    window: timedelta | None
    samples: int

    @classmethod
    def read(cls, request: dict[str, Any]) -> Asked:
        """Parses `filter`, and if given `since`, `until` (ISO), `window_seconds` and `samples`."""
        try:
            seconds = request.get("window_seconds")
            return cls(
                str(request["filter"]),
                None if request.get("since") is None else _moment(request["since"]),
                datetime.now(UTC) if request.get("until") is None else _moment(request["until"]),
                None if seconds is None else timedelta(seconds=float(seconds)),
                min(int(request.get("samples", _SAMPLES)), _MOST_SAMPLES),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise PipelineError(f"this is no backtest: {error}") from error


def look_back(records: DataFrame, schema: Schema, asked: Asked, operators: Operators | None = None) -> dict[str, Any]:
    """Counts over time and a few matching events. Records have the columns of the event log.

    `illegible` are the events that are no longer, or not yet, valid under the schema.
    """
    chosen = chosen_records(records, asked)
    count, first, last = chosen.selectExpr("count(1)", "min(time)", "max(time)").collect()[0]
    window = asked.window or width_of(first, last)
    # The log's columns and the attributes come together in one frame, and attributes may have any name.
    time, body = _unused("time", schema), _unused("body", schema)
    named = chosen.selectExpr(f"time AS `{time}`", f"body AS `{body}`", "body")
    valid, _ = pipeline.validate(named, schema, "body", ignore_unknown=True)
    found = pipeline.backtest(
        valid,
        {_ID: asked.filter},
        schema,
        time_column=time,
        window=window,
        samples=asked.samples,
        keep=[time, body],
        operators=operators,
    )
    try:
        # What one filter's pass counted is about as large as the answer: one job fetches it, and Spark plans no more.
        tally = found.tally.toArrow()
    finally:
        found.close()
    volume, counts = _series(tally, EVENTS), _series(tally, MATCHES)
    events = sum(number for _, number in volume)
    sampled = tally.filter(pc.equal(tally["_kind"], SAMPLE)).sort_by("_window")
    return {
        "events": events,
        "illegible": count - events,
        "window_seconds": window.total_seconds(),
        "volume": volume,
        "counts": counts,
        "total": sum(number for _, number in counts),
        "samples": [published_event(text) for text in sampled[body].slice(0, asked.samples).to_pylist()],
        "errors": [str(error) for _, error in found.errors],
    }


def chosen_records(records: DataFrame, asked: Asked) -> DataFrame:
    """Records of the log received in the requested time."""
    # The stream has the cores to itself but for this: one of them stays free of backtests, if there is one.
    records = records.coalesce(max(records.sparkSession.sparkContext.defaultParallelism - 1, 1))
    chosen = records.where(records["time"] < asked.until)
    return chosen if asked.since is None else chosen.where(records["time"] >= asked.since)


def _series(tally: pa.Table, kind: int) -> list[list[Any]]:
    """Start and count of each window, in order."""
    counted = tally.filter(pc.equal(tally["_kind"], kind)).group_by("_window").aggregate([("_count", "sum")])
    ordered = counted.sort_by("_window")
    starts = ordered["_window"].cast(pa.timestamp("us", "UTC")).to_pylist()
    numbers = ordered["_count_sum"].to_pylist()
    return [[start.isoformat(), number] for start, number in zip(starts, numbers, strict=True)]


def width_of(first: datetime | None, last: datetime | None) -> timedelta:
    """Narrowest of the usual widths that does not cut the time into too many windows."""
    seconds = 0.0 if first is None or last is None else (last - first).total_seconds()
    return timedelta(seconds=next((width for width in _WIDTHS if seconds <= width * _WINDOWS), _WIDTHS[-1]))


def _unused(name: str, schema: Schema) -> str:
    """Name that no attribute has, made by appending underscores."""
    unused = f"_{name}"
    while any(taken == unused or taken.startswith(f"{unused}.") for taken in schema.attributes):
        unused = f"_{unused}"
    return unused


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


# Backtest of a join: its content, had the tables begun empty with the oldest event that is kept.

_MOST: Final = 1_000_000  # the tables grow from one event to the next, so all go through the driver
_AT_ONCE: Final = 10_000


def look_back_joined(records: DataFrame, schema: Schema, asked: Asked) -> dict[str, Any]:
    """Number of results that came and went over time, and some of those at the end.

    The form is that of a filter's backtest; `rows` is how many results there are in the end, and `samples` are results.
    """
    chosen = chosen_records(records, asked)
    count, first, last = chosen.selectExpr("count(1)", "min(time)", "max(time)").collect()[0]
    if count > _MOST:
        message = f"a backtest of a join looks at {_MOST:,} events at most, and there are {count:,}; narrow it by since"
        raise PipelineError(message)
    window = asked.window or width_of(first, last)
    server = JoinServer(schema, {_ID: asked.filter})
    volume, counts = Counter[datetime](), Counter[datetime]()
    illegible = 0
    ordered = chosen.orderBy("partition", "offset").select("time", "body").toArrow()
    for batch in ordered.to_batches(max_chunksize=_AT_ONCE) if not server.errors else []:
        checked = schema.check_json(batch["body"].cast(pa.string()), ignore_unknown=True)
        illegible += batch.num_rows - len(checked.valid_rows)
        starts = _starts(batch["time"].take(checked.valid_rows), window)
        volume.update(starts)
        changes = server.result_changes(server.apply(checked.valid))
        counts.update(starts[change.event] for change in changes)
    content = [] if server.errors else server.content(_ID)
    return {
        "events": sum(volume.values()),
        "illegible": illegible,
        "window_seconds": window.total_seconds(),
        "volume": _counted(volume),
        "counts": _counted(counts),
        "total": sum(counts.values()),
        "rows": len(content),
        "samples": [orjson.loads(row_text(row)) for row in content[: asked.samples]],
        "errors": [str(error) for _, error in server.errors],
    }


def _starts(times: pa.Array, window: timedelta) -> list[datetime]:
    """Start of the window of each moment."""
    width = window // timedelta(microseconds=1)
    numbers = np.asarray(times.cast(pa.timestamp("us", "UTC")).cast(pa.int64()))
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return [epoch + timedelta(microseconds=start) for start in (numbers // width * width).tolist()]


def _counted(counted: Counter[datetime]) -> list[list[Any]]:
    return [[start.isoformat(), number] for start, number in sorted(counted.items())]


# Pool of Spark's scheduler, and group of jobs: the stream's tasks take turns with these.
_POOL: Final = "backtests"
_POLL: Final = 1.0
_PROGRESS: Final = 0.5


class BacktestRunner:
    """Thread that claims and runs one job after the other from the store.

    A job that was running when its process died is requeued. A failure is written to the job.
    """

    def __init__(
        self,
        spark: SparkSession,
        log: EventLog,
        store: Store,
        *,
        offering: Offering = NOTHING,
    ) -> None:
        self._spark = spark
        self._log = log
        self._store = store
        self._offering = offering
        self._stopped = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="backtests", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raises an error if the thread has ended."""
        if not self._thread.is_alive():
            raise PipelineError(f"backtests are no longer run: {self._failure}")

    def stop(self) -> None:
        """Stops; the next process takes the running job up again."""
        self._stopped.set()
        self._spark.sparkContext.cancelJobGroup(_POOL)
        self._thread.join(5)

    def _work(self) -> None:
        try:
            self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", _POOL)
            self._store.backtests.requeue()
            while not self._stopped.is_set():
                job = self._store.backtests.claim()
                if job is not None:
                    self._run(job)
                elif self._stopped.wait(_POLL):
                    return
        except BaseException as error:
            self._failure = error
            raise

    def _run(self, job: Backtest) -> None:
        done = threading.Event()
        watching = threading.Thread(target=self._watch, args=(job.id, done), name="progress", daemon=True)
        self._spark.sparkContext.setJobGroup(_POOL, f"backtest {job.id}", interruptOnCancel=True)
        watching.start()
        try:
            schema = FollowedSchema(self._store).schema
            asked = Asked.read(job.request)
            records = read_log(self._spark, self._log, stream=False)
            if schema.tables and are_joins(pa.array([asked.filter]))[0]:
                result = look_back_joined(records, schema, asked)
            else:
                result = look_back(records, schema, asked, self._offering.operators)
        except Exception as error:  # noqa: BLE001 - the job's fault, or Spark's: whoever asked is told
            if not self._stopped.is_set():
                traceback.print_exc()
                self._finish(done, watching)
                self._store.backtests.finish(job.id, error=_shown(error))
        else:
            self._finish(done, watching)
            self._store.backtests.finish(job.id, result)

    @staticmethod
    def _finish(done: threading.Event, watching: threading.Thread) -> None:
        done.set()
        watching.join()

    def _watch(self, id: str, done: threading.Event) -> None:
        """Records the progress of the tasks, periodically."""
        tracker = self._spark.sparkContext.statusTracker()
        told = (0, 0)
        while not done.wait(_PROGRESS):
            jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(_POOL))
            stages = {stage for job in jobs if job is not None for stage in job.stageIds}
            infos = [info for info in map(tracker.getStageInfo, stages) if info is not None]
            now = (sum(info.numCompletedTasks for info in infos), sum(info.numTasks for info in infos))
            if now != told:
                self._store.backtests.progress(id, *now)
                told = now


def _shown(error: Exception) -> str:
    return str(error) if isinstance(error, TamisError) else f"the backtest failed: {type(error).__name__}"
