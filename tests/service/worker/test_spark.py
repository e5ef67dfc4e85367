"""What Spark is told for a log on Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tamis import pipeline
from tamis.errors import PipelineError
from tamis.service.base.configuration import Settings
from tamis.service.worker.spark import local_with_attempts, start_session

pyspark = pytest.importorskip("pyspark", reason="the Spark extra is not installed")

OWN = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
KAFKA = "kafka://broker:9092/events"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The settings that a session was asked for with."""
    kept: dict[str, Any] = {}

    def session(master: str | None, *, name: str, config: Mapping[str, str]) -> None:
        kept.update(config)

    monkeypatch.setattr(pipeline, "session", session)
    return kept


@pytest.mark.parametrize(
    ("log", "given", "packages"),
    [
        ("", {}, None),
        (KAFKA, {}, OWN),
        (KAFKA, {"spark.jars.packages": "a:b:1", "spark.jars": "c.jar"}, f"a:b:1,{OWN}"),
        (KAFKA, {"spark.jars.packages": "o:spark-sql-kafka-0-10_2.13:4"}, "o:spark-sql-kafka-0-10_2.13:4"),
        (KAFKA, {"spark.jars": "/jars/spark-sql-kafka-0-10_2.13-4.jar"}, None),
    ],
)
def test_the_connector_is_sparks_own_unless_the_settings_name_one(
    tmp_path: Path, told: dict[str, Any], log: str, given: dict[str, str], packages: str | None
) -> None:
    start_session(Settings(state=tmp_path, log_url=log, spark_config=given))
    assert told.get("spark.jars.packages") == packages
    assert told.get("spark.jars") == given.get("spark.jars")


def test_a_connector_that_is_not_to_be_had_is_one_line_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def session(*_: object, **__: object) -> None:
        raise PipelineError("Spark did not start; what it said is on standard error")

    monkeypatch.setattr(pipeline, "session", session)
    with pytest.raises(PipelineError, match=rf"{OWN} is not to be had: .*spark_config: .*spark\.jars\.packages"):
        start_session(Settings(state=tmp_path, log_url=KAFKA))
    with pytest.raises(PipelineError, match="what it said is on standard error"):
        start_session(Settings(state=tmp_path))


@pytest.mark.parametrize(
    ("asked", "attempts", "master"),
    [
        (None, None, "local[*,4]"),
        ("local", None, "local[1,4]"),
        ("local[2]", None, "local[2,4]"),
        ("local[*]", "7", "local[*,7]"),
        ("local[2,1]", None, "local[2,1]"),
        ("spark://head:7077", None, "spark://head:7077"),
    ],
)
def test_a_local_master_has_the_attempts_at_a_task_that_a_cluster_has(
    tmp_path: Path, asked: str | None, attempts: str | None, master: str
) -> None:
    config = {} if attempts is None else {"spark.task.maxFailures": attempts}
    assert local_with_attempts(Settings(state=tmp_path, spark_master=asked, spark_config=config)) == master
