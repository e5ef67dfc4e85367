"""What all tests share: hypothesis profiles, one lazy Spark session, and which tests stay together."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The first example may compile a kernel, so no example has a deadline.
settings.register_profile(
    "default",
    max_examples=25,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("long", settings.get_profile("default"), max_examples=120)  # of `make test-all`
# In CI a failure must come back on the next run.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# Java's second compiler takes a third of the time of tests with Spark, and pays only in machines that live longer.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Groups that take a minute or so, the longest first: one that began last would leave the other processes idle.
LONG = (
    "spark",
    "tests/contract/test_agreement.py",
    "tests/docs/test_snippets.py",
    "tests/lab/experiments/test_catalogue.py",
    "tests/contract/test_joins.py",
    "tests/contract/test_changes.py",
    "tests/service/http/console/test_readability.py",
    "tests/service/worker/test_operators.py",
    "tests/service/worker/test_process.py",
    "tests/contract/test_operators.py",
    "tests/pipeline/joining/test_processor.py",
    "tests/joins/test_client.py",
    "tests/joins/test_naive.py",
    "tests/service/store/test_kills.py",
)


@pytest.hookimpl(tryfirst=True)  # before what spreads tests over processes looks for their groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In several processes, tests with the Spark session stay together, for there is one; others by file.

    A slow test takes as long as a file, and is a group of its own.
    """
    rank = {group: place for place, group in enumerate(LONG)}
    places = {}
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            group = "spark"
        else:
            group = item.nodeid if item.get_closest_marker("slow") else item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))
        # Slow ones before files of many small tests, which fill what is left at the end.
        places[item] = 0.5 if group == item.nodeid else rank.get(group, len(LONG))
    if hasattr(config, "workerinput"):  # one of several processes
        items.sort(key=places.__getitem__)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of a test run: two local cores, started when the first test asks for it."""
    pytest.importorskip("pyspark", reason="the Spark extra is not installed")
    from tamis import pipeline
    from tamis.errors import PipelineError

    folder = tmp_path_factory.mktemp("spark")
    # Workers are processes of their own: they must run this Python and find this source tree.
    source = Path(__file__).resolve().parents[1] / "src"
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(source), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        session = pipeline.session("local[2]", name="tamis tests", config=_small(folder))
    except PipelineError as error:
        pytest.skip(str(error))
    yield session
    session.stop()


def _small(folder: Path) -> dict[str, str]:
    """Settings for small data: few partitions, small batches (so that tests see several), files out of the way."""
    return {
        "spark.driver.memory": "1g",
        "spark.default.parallelism": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
    }
