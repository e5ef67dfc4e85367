"""What is left of Spark's errors when one line is wanted."""

from __future__ import annotations

import pytest

from tamis.spark_cause import in_one_line, spark_cause

WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 3, in main
    process()
    ^^^^^^^^^
pyarrow.lib.ArrowInvalid: Could not convert 'GOOG'

\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1)
Caused by: java.lang.IllegalStateException: the worker is gone
"""
JVM = """An error occurred while calling o165.save.
: org.apache.spark.SparkException: Job aborted.
\tat org.apache.spark.sql.Writer.write(Writer.scala:1)
Caused by: java.io.IOException: Mkdirs failed to create file:/locked/out
\t... 60 more
"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (WORKER, "ArrowInvalid: Could not convert 'GOOG'"),
        (WORKER.replace("pyarrow.lib.ArrowInvalid: Could not convert 'GOOG'", "AssertionError"), "AssertionError"),
        (JVM, "IOException: Mkdirs failed to create file:/locked/out"),
        ("pyspark.errors.AnalysisException: no such column\n== plan ==", "AnalysisException: no such column"),
        (
            "[COLUMN_ALREADY_EXISTS] The column `a` already exists.\nmore",
            "[COLUMN_ALREADY_EXISTS] The column `a` already exists.",
        ),
    ],
)
def test_of_sparks_pages_the_line_is_told_that_says_what_happened(text: str, cause: str) -> None:
    assert spark_cause(RuntimeError(text)) == cause


QUERY = """[STREAM_FAILED] Query [id = 27876b72, runId = 004a8f2e] terminated with exception: An exception was \
raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "/opt/tamis/recording.py", line 58, in record
    raise StoreError("the disk is full")
tamis.service.store.errors.StoreError: the disk is full

=== Streaming Query ===
Identifier: matching [id = 27876b72, runId = 004a8f2e]
Current Available Offsets: {tamis_spool: {"event": 3}}

Logical Plan:
~WriteToMicroBatchDataSourceV1 ForeachBatchSink
"""


class StreamingQueryException(Exception):  # noqa: N818 - as it is called there
    """Stands for the one of PySpark, which need not be installed."""

    __module__ = "pyspark.errors.exceptions.captured"


def test_a_query_that_failed_is_told_in_one_line() -> None:
    assert in_one_line(StreamingQueryException(QUERY)) == "StoreError: the disk is full"


def test_an_error_of_several_lines_is_told_in_one() -> None:
    assert (
        in_one_line(ValueError("expected a number\n  price > and\n          ^^^"))
        == "expected a number price > and ^^^"
    )
