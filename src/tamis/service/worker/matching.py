"""Streaming query that matches the event log on Spark, and its warm-up with a made-up event."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa

from tamis.errors import PipelineError
from tamis.eventlog import RECORDS, EventLog
from tamis.eventlog.spool.spool_log import SpoolLog
from tamis.pipeline.frames import sieved
from tamis.pipeline.sources import read_log
from tamis.pipeline.stream import sift
from tamis.pipeline.table.subscriptions import Snapshot
from tamis.pipeline.workers.packing import Packing
from tamis.schema import EVENT_TYPE, Schema
from tamis.schema.domains import EnumeratedDomain, HierarchicalDomain
from tamis.service.store import Reached, Store
from tamis.service.worker.checkpoint import Checkpoint
from tamis.service.worker.following import FollowingTable
from tamis.service.worker.joining import Joining
from tamis.service.worker.messages import Batch, Noticed
from tamis.service.worker.recording import RANK_BITS, Recorder
from tamis.service.worker.suspending import Fairness
from tamis.spark_cause import in_one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_AGAIN: Final = {
    True: "events of the spool that it does not tell to be done are matched again, under the same ids",
    False: "matching goes on from where the store says",
}
_COLUMNS: Final = ("offset", "partition", "id", "time", "body")


class Matching:
    """Running query over the log. A batch is in the store, whole and once, before Spark starts the next one.

    Spark calls `_snapshot` and `_record` in turn, from a thread of its own. If a process dies in between, Spark plans
    the same batch again, and the store knows if it has it. A shared log may have been matched elsewhere since this
    folder's last batch: the store knows that too, and up to where.
    """

    def __init__(
        self,
        spark: SparkSession,
        log: EventLog,
        store: Store,
        table: FollowingTable,
        checkpoint: Path,
        told: Callable[[Batch | Noticed], None],
        *,
        joining: Joining | None = None,
        fairness: Fairness | None = None,
        then: Callable[[], None] | None = None,
    ) -> None:
        self._then = then
        segments = store.notifications.segments
        # Workers on other machines see no folder of this one: their segments come as values.
        local = str(spark.sparkContext.master).startswith("local")
        self._folder = str(segments.made_folder()) if local and segments.folder is not None else None
        self._log = log
        self._fairness = fairness
        self._table = table
        self._told = told
        begin, recorded = "", store.notifications.last_batch
        if log.shared is None:
            self._checkpoint = Checkpoint(checkpoint, _next_batch(store), recorded=recorded)
        else:
            # Where nobody has begun with this log, what is in the folder is about another one.
            reached = store.progress.of(log.shared) or Reached(log.shared, stream="", offsets="")
            begin = reached.offsets
            self._checkpoint = Checkpoint(checkpoint, _next_batch(store), reached.stream, begin, recorded)
            # Refused if the one before, cut off and not aware of it yet, has recorded a batch since `reached` was read.
            store.progress.take_over(reached, self._checkpoint.stream)
        if self._checkpoint.damage is not None:
            told(Noticed(f"the checkpoint is damaged: {self._checkpoint.damage}; {_AGAIN[log.shared is None]}"))
        if joining is not None:
            joining.take_over(None if log.shared is None else (log.shared, self._checkpoint.stream))
        self._recorder = Recorder(store, table.residuals, joining, fairness)
        self._flusher = ThreadPoolExecutor(1, "checkpoint")
        self._secured: Future[None] | None = None
        self._began = 0.0
        self._under_way = False
        self._query = sift(
            # Where Spark begins if the checkpoint is new; else it knows by itself.
            read_log(spark, log, start=begin or None),
            self._snapshot,
            sink=self._record,
            checkpoint=self._checkpoint.folder,
            json="body",
            keep=_COLUMNS,
            # The door has judged; what it passed over, and what others write to a shared log, is no reason here.
            ignore_unknown=True,
            judged=True,
            name="matching",
            packing=self._packing,
        )

    def check(self) -> None:
        """Raises an error if the query has ended."""
        if not self._query.isActive:
            error = self._query.exception()
            raise PipelineError(f"the query ended: {'it was stopped' if error is None else in_one_line(error)}")

    def busy(self) -> float:
        """Seconds for which the batch under way has been running; 0 between batches. From any thread."""
        began = self._began
        return round(time.perf_counter() - began, 1) if self._under_way else 0.0

    def stop(self) -> None:
        self._query.stop()
        self._flusher.shutdown()

    def wait_for_all(self) -> None:
        """Returns when all events in the log now have been matched."""
        self._query.processAllAvailable()

    def _snapshot(self, query: str, number: int) -> Snapshot:
        self._began = time.perf_counter()
        self._under_way = True
        # Flushing takes about as long as everything before the workers begin: it is done beside it.
        self._secured = self._flusher.submit(self._checkpoint.secure, number)
        snapshot = self._table.for_batch(query, number)
        if self._fairness is None:
            return snapshot
        self._fairness.begin()
        return replace(snapshot, desk=str(self._fairness.folder))

    def _packing(self, snapshot: Snapshot, number: int) -> Packing | None:
        """How workers pack what matches; None where the driver has to see every pair: of tables that joins follow."""
        ranks, planned = self._checkpoint.ranks(number), self._checkpoint.range(number)
        if snapshot.schema.tables or ranks is None or planned.end - planned.start >= 1 << RANK_BITS:
            return None
        return Packing((self._checkpoint.first + number) << RANK_BITS, ranks, self._folder)

    def _record(self, answer: pa.Table, number: int) -> None:
        if self._secured is not None:
            self._secured.result()
        batch = self._checkpoint.first + number
        recorded = self._recorder.record(self._checkpoint.stream, batch, answer, self._reached(number))
        if self._then is not None:
            self._then()
        if self._fairness is not None:
            self._fairness.end()
        planned = self._checkpoint.range(number)
        self._told(
            Batch(
                batch,
                recorded.head,
                events=planned.end - planned.start,
                matches=recorded.matches,
                dead=recorded.dead,
                ms=round(1_000 * (time.perf_counter() - self._began), 1),
                revision=self._table.applied,
                processed=planned.start,
                lag_events=self._lag(planned.end),
                ends=self._checkpoint.ends(number),
            )
        )
        self._under_way = False

    def _reached(self, number: int) -> Reached | None:
        log, checkpoint = self._log.shared, self._checkpoint
        return None if log is None else Reached(log, checkpoint.stream, checkpoint.end(number))

    def _lag(self, end: int) -> int:
        """Number of events of the log still to be matched; -1 if its partitions are numbered apart."""
        newest = self._log.recent(1) if isinstance(self._log, SpoolLog) else RECORDS.empty_table()
        return newest["offset"][0].as_py() + 1 - end if newest.num_rows else -1


def _next_batch(store: Store) -> int:
    """One more than the last batch that the store may have."""
    return (store.notifications.head() >> RANK_BITS) + 1


# Warm-up: a made-up event, matched like a real one and thrown away.
#
# The first micro-batch would otherwise wait for Spark to start the processes that plan, read and match, and for each of
# them to open the table.

_VALUES: Final = {
    "integer": 1,
    "float": 1.5,
    "string": "",
    "boolean": True,
    "timestamp": "2000-01-01T00:00:00Z",
    "binary": "",
}


def try_out(spark: SparkSession, log: EventLog, subscriptions: Snapshot) -> None:
    """Reads some of the log, if there is anything, and matches one event a core. A failure is only logged."""
    try:
        read_log(spark, log, stream=False).limit(1).toArrow()
        _match(spark, subscriptions)
    except Exception:  # noqa: BLE001 - if it matters, the first batch fails too, and says so
        traceback.print_exc()


def _match(spark: SparkSession, subscriptions: Snapshot) -> None:
    from pyspark.sql.functions import lit

    cores = spark.sparkContext.defaultParallelism
    body = orjson.dumps(made_up_event(subscriptions.schema)).decode()
    events = spark.range(0, cores, 1, cores).withColumn("body", lit(body))
    if (crew := subscriptions.crew) is not None:
        # Operators are called, so that they are loaded; what they make of it is told to nobody.
        subscriptions = replace(subscriptions, crew=replace(crew, ledger=""))
    sieved(
        events, subscriptions, keep=["id"], every=False, check=True, json="body", ignore_unknown=True, attributes=False
    ).toArrow()


def made_up_event(schema: Schema) -> dict[str, Any]:
    """Valid event of the schema's first type, with every attribute that it may have."""
    first = next(iter(schema.event_types.values()))
    event: dict[str, Any] = {EVENT_TYPE: [first.name]}
    for name, annotation in first.annotations.items():
        domain = schema.attributes[name].domain
        value: Any = _VALUES.get(domain.kind)
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            value = domain.values[0]
        event[name] = [value] if annotation.multiple else value
    return event
