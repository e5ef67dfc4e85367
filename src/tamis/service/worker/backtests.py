"""Backtests that users asked for, run one after the other beside the stream."""

from __future__ import annotations

import threading
import traceback
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tamis.errors import PipelineError, TamisError
from tamis.eventlog import EventLog
from tamis.language.joins import are_joins
from tamis.pipeline.sources import read_log
from tamis.service.base.offering import NOTHING, Offering
from tamis.service.store import Backtest, Store
from tamis.service.store.followed_schema import FollowedSchema
from tamis.service.worker.looking_back import Asked, look_back
from tamis.service.worker.looking_back_joined import look_back_joined

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The pool of Spark's scheduler, and the group of jobs: the stream's tasks take turns with these.
_POOL: Final = "backtests"
_POLL: Final = 1.0
_PROGRESS: Final = 0.5


class BacktestRunner:
    """A thread that takes one job after the other from the store.

    A job that was running when its process died is taken again. What goes wrong with a job is written to it.
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
        """Complains if the thread has ended."""
        if not self._thread.is_alive():
            raise PipelineError(f"backtests are no longer run: {self._failure}")

    def stop(self) -> None:
        """Leaves what is running to the next process."""
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
        """Writes down how many of the tasks are done, now and then."""
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
