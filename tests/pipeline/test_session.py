"""Where Spark cannot start, one line says why; a session that runs is used."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tamis import pipeline
from tamis.errors import PipelineError, TamisError
from tamis.pipeline.session import on_one_machine, require_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_the_running_session_is_returned(spark: SparkSession) -> None:
    assert pipeline.session() is spark


def test_only_on_one_machine_partitions_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert on_one_machine("local[*]")["spark.sql.shuffle.partitions"] == "6"
    assert on_one_machine("yarn") == on_one_machine(None) == {}


def test_spark_starts_without_chatter_unless_it_has_settings_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    said = on_one_machine("local[*]")["spark.driver.extraJavaOptions"]
    assert "rootLogger.level = error" in Path(said.strip(chr(34)).partition("=file://")[2]).read_text()
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    assert "spark.driver.extraJavaOptions" not in on_one_machine("local[*]")


def test_a_missing_package_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec

    def without_spark(name: str, *rest: Any) -> Any:
        return None if name == "pyspark" else found(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without_spark)
    with pytest.raises(TamisError, match=r"^pipelines need pyspark: pip install 'tamis\[spark\]'$"):
        require_spark()


def test_a_missing_java_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PipelineError, match=r"needs Java 17 or newer, and none was found in JAVA_HOME .* install it"):
        require_spark()


@pytest.mark.parametrize(("said", "version"), [("11.0.2", 11), ("1.8.0_392", 8)])
def test_an_old_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, version: int) -> None:
    pytest.importorskip("pyspark")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{said}\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PipelineError, match=f"Java {version} was found"):
        require_spark()


def test_importing_the_pipeline_imports_no_spark() -> None:
    script = "import sys, tamis.pipeline; assert not {'pyspark', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
