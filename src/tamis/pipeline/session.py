"""Spark sessions with settings for Tamis, and Spark's errors reduced to one line."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tamis.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA: Final = 17
KAFKA_CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"

_SETTINGS: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    # Compiled subscriptions come back to the driver, which has to hold them anyway.
    "spark.driver.maxResultSize": "0",
    # Tamis speaks of instants; a session elsewhere would show them shifted, and move the windows of a backtest.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Larger batches match no faster and hold more memory; smaller ones pay the fixed cost of a match more often.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    # Tables that are joined are held there; a commit then writes what changed, not all that there is.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def session(
    master: str | None = None,
    *,
    name: str = "tamis",
    kafka: bool = False,
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """The running Spark session, or a new one: on all local cores unless `master` says otherwise.

    `kafka` adds the Kafka connector, which Spark fetches from Maven Central once. `config` goes over the settings made
    here; on one machine these shuffle into twice as many partitions as it has cores. A session that runs already is
    returned as it is: Spark has one a process.
    """
    require_spark()
    from pyspark import __version__
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    # Workers are processes of their own, and must be this Python with these packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    # Under spark-submit the master is given there.
    if master is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        master = "local[*]"
    if master is not None:
        builder = builder.master(master)
    connector = f"{KAFKA_CONNECTOR}:{__version__}"
    if kafka:
        builder = builder.config("spark.jars.packages", connector)
    for key, value in {**_SETTINGS, **on_one_machine(master), **(config or {})}.items():
        builder = builder.config(key, value)
    try:
        started = builder.getOrCreate()
    except PySparkRuntimeError as error:
        reason = f", perhaps because Maven Central does not give {connector}" if kafka else ""
        raise PipelineError(f"Spark did not start{reason}; what it said is on standard error") from error
    started.sparkContext.setLogLevel("ERROR")
    return started


def on_one_machine(master: str | None) -> dict[str, str]:
    """Settings of a session on a local master; nothing for a cluster."""
    if master is None or not master.startswith("local"):
        return {}
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        **_quiet(),
        # Spark has 200, for clusters. A join holds a worker and a store for each: most of its time would go there.
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
    }


def _quiet() -> dict[str, str]:
    """Log settings: Spark logs errors only, unless its user has settings for that, or for Java."""
    if "SPARK_CONF_DIR" in os.environ or "SPARK_HOME" in os.environ:
        return {}
    settings = Path(__file__).with_name("log4j2.properties")
    return {"spark.driver.extraJavaOptions": f'"-Dlog4j2.configurationFile={settings.as_uri()}"'}


def require_spark() -> None:
    """Raises an error in one line where PySpark, pandas or Java is missing: Spark's own is a page long."""
    missing = [package for package in ("pyspark", "pandas") if importlib.util.find_spec(package) is None]
    if missing:
        raise PipelineError(f"pipelines need {' and '.join(missing)}: pip install 'tamis[spark]'")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    found = _java_version(java) if java is not None else None
    if found is None or found < JAVA:
        has = f"Java {found} was found" if found is not None else "none was found"
        where = f" in JAVA_HOME ({home})" if home else ""
        raise PipelineError(
            f"Spark needs Java {JAVA} or newer, and {has}{where}: install it "
            "(Debian/Ubuntu: apt-get install default-jre-headless) or set JAVA_HOME"
        )


def _java_version(java: str) -> int | None:
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', told.stderr)  # Java 8 calls itself 1.8
    return int(version.group(1)) if version else None
