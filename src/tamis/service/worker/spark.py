"""Spark session of the pipeline process, tuned for short micro-batches."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tamis import pipeline
from tamis.errors import PipelineError
from tamis.pipeline.session import KAFKA_CONNECTOR
from tamis.service.base.configuration import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_CHECKPOINTING: Final = "org.apache.spark.sql.execution.streaming.checkpointing"
_PACKAGES: Final = "spark.jars.packages"
_JARS: Final = "spark.jars"
_BRISK: Final = {
    "spark.driver.memory": "1g",
    # A micro-batch is a handful of tasks on one machine: waiting for a better place, adapting plans and keeping
    # statistics for a user interface that is off cost more than the tasks.
    "spark.locality.wait": "0s",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    "spark.sql.streaming.minBatchesToRetain": "20",
    # The checkpoint is on this machine. By default Spark writes it through an interface that starts a process for every
    # file (chmod, readlink), and two files of checksums beside each: that would be a third of a batch's time.
    "spark.sql.streaming.checkpointFileManagerClass": f"{_CHECKPOINTING}.FileSystemBasedCheckpointFileManager",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    # Hadoop gives files a mode of its own, whatever the process is told: they are for this user, like all of the state.
    "spark.hadoop.fs.permissions.umask-mode": "077",
    # Backtests take turns with the stream, task by task.
    "spark.scheduler.mode": "FAIR",
    # Workers are forked from a process that has all of Tamis loaded.
    "spark.python.daemon.module": "tamis.pipeline.workers.daemon",
}


# Local master: threads, and perhaps attempts at a task.
_LOCAL: Final = re.compile(r"local(?:\[(\d+|\*)\])?")
_ATTEMPTS: Final = "spark.task.maxFailures"
_USUAL_ATTEMPTS: Final = "4"  # Spark's own, on a cluster


def start_session(settings: Settings) -> SparkSession:
    """Starts the session. Remains of a killed one in the state folder are removed first."""
    folder = settings.state.absolute() / "spark"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("local", "tmp"):
        (folder / name).mkdir(parents=True)
    config = {
        **_BRISK,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": _java_options(folder / "tmp"),
        **settings.spark_config,
    }
    connector = _missing_connector(settings)
    if connector is not None:
        config[_PACKAGES] = ",".join(filter(None, (config.get(_PACKAGES), connector)))
    try:
        return pipeline.session(local_with_attempts(settings), name="tamis serve", config=config)
    except PipelineError as error:
        if connector is None:
            raise
        raise PipelineError(
            f"Spark did not start, perhaps because {connector} is not to be had: name another in the settings "
            f"(spark_config: {{{_PACKAGES}: {KAFKA_CONNECTOR}:VERSION}}), or its files ({{{_JARS}: FILE,FILE...}})"
        ) from error


def local_with_attempts(settings: Settings) -> str:
    """Master of the settings, all local cores without one; a local one retries tasks as often as a cluster.

    Local Spark gives a task one attempt unless its master names more, and has no other setting for it: the end of one
    worker would end the query, and all of Spark with it.
    """
    master = settings.spark_master or "local[*]"
    local = _LOCAL.fullmatch(master)
    if local is None:
        return master
    return f"local[{local[1] or 1},{settings.spark_config.get(_ATTEMPTS, _USUAL_ATTEMPTS)}]"


def _missing_connector(settings: Settings) -> str | None:
    """Package that a log on Kafka needs; None without such a log, or if the settings name one themselves."""
    if not settings.log.startswith("kafka:"):
        return None
    from pyspark import __version__

    name = KAFKA_CONNECTOR.partition(":")[2]
    if any(name in settings.spark_config.get(option, "") for option in (_PACKAGES, _JARS)):
        return None
    return f"{KAFKA_CONNECTOR}:{__version__}"


def warm(spark: SparkSession) -> None:
    """Has Spark start the daemon that workers are forked from, which takes seconds."""
    spark.range(1).mapInArrow(_as_they_are, "id long").toArrow()


def _as_they_are(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches


def _java_options(temporary: Path) -> str:
    """Java options: a batch is short and its code runs seldom, so the second compiler's work is never earned back."""
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
    return f"{quick} -Djava.io.tmpdir={temporary} -Dderby.system.home={temporary}"
