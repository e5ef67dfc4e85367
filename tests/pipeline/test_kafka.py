"""Events from Kafka, matches and dead letters to Kafka: against a real broker where one can be had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scripts.kafka_broker import Broker, BrokerUnavailableError, spark_connector
from tamis import pipeline
from tamis.errors import PipelineError
from tests.pipeline.auction_day import expected, pairs
from tests.pipeline.kafka_round import BAD_LINES, LOTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    pytest.importorskip("pyspark")
    try:
        with Broker() as broker:
            yield broker.servers
    except BrokerUnavailableError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def connector() -> str:
    """The jars of Spark's connector."""
    try:
        return spark_connector()
    except BrokerUnavailableError as missing:
        pytest.skip(str(missing))


@pytest.mark.slow
def test_what_is_published_on_a_topic_is_matched_onto_another(servers: str, connector: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.pipeline.kafka_round", servers, str(tmp_path), connector],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    repeated = expected(LOTS[:1])
    assert sorted((row["title"], row["subscription"]) for row in told["matches"]) == sorted(
        [*pairs(expected(LOTS)), *pairs(repeated)]
    )
    assert len({row["key"] for row in told["matches"]}) == len(told["matches"])
    assert all(row["key"] == row["notification"] for row in told["matches"])
    assert len({row["key"] for row in told["dead"]}) == len(BAD_LINES)
    assert all(row["reason"] for row in told["dead"])


def test_a_session_without_the_connector_says_how_to_have_it(spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match=r"no Kafka connector: start it with pipeline.session\(kafka=True\)"):
        pipeline.read_kafka(spark, "127.0.0.1:9", "lots")
    with pytest.raises(PipelineError, match="no Kafka connector"):
        pipeline.to_kafka("127.0.0.1:9", "lots")(spark.range(1).selectExpr("'k' AS event_key"), 0)
