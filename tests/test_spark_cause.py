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
tamis.service.store.database.StoreError: the disk is full

=== Streaming Query ===
Identifier: matching [id = 27876b72, runId = 004a8f2e]
Current Available Offsets: {tamis_spool: {"event": 3}}

Logical Plan:
~WriteToMicroBatchDataSourceV1 ForeachBatchSink
"""


KILLED = """[STREAM_FAILED] Query [id = 21caf65c, runId = 6eee5e23] terminated with exception: An exception was \
raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "/opt/py4j/clientserver.py", line 642, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/py4j/protocol.py", line 327, in get_return_value
    raise Py4JJavaError(
py4j.protocol.Py4JJavaError: An error occurred while calling o337.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 9.0 failed 1 times, most \
recent failure: Lost task 0.0 in stage 9.0 (TID 21) (127.0.0.1 executor driver): org.apache.spark.SparkException: \
{reason}
\tat org.apache.spark.api.python.BasePythonRunner.applyOrElse(PythonRunner.scala:1136)
Caused by: java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)
\t... 24 more

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:4568)
Caused by: org.apache.spark.SparkException: {reason}
\tat org.apache.spark.api.python.BasePythonRunner.applyOrElse(PythonRunner.scala:1136)
Caused by: java.io.EOFException
\t... 24 more

=== Streaming Query ===
"""
CRASHED = "Python worker exited unexpectedly (crashed). Consider setting 'spark.python.worker.faulthandler.enabled'"


class StreamingQueryException(Exception):  # noqa: N818 - as it is called there
    """Stands for the one of PySpark, which need not be installed."""

    __module__ = "pyspark.errors.exceptions.captured"


def test_a_query_that_failed_is_told_in_one_line() -> None:
    assert in_one_line(StreamingQueryException(QUERY)) == "StoreError: the disk is full"


def test_a_worker_that_died_is_told_and_not_the_call_that_failed_for_it() -> None:
    told = in_one_line(StreamingQueryException(KILLED.replace("{reason}", CRASHED)))
    assert told.startswith("a Python worker of Spark's died")


def test_where_a_call_into_java_failed_java_says_why() -> None:
    told = in_one_line(StreamingQueryException(KILLED.replace("{reason}", "no space left on device")))
    assert told == "SparkException: no space left on device"


def test_a_java_process_that_is_gone_is_told_and_not_what_was_asked_of_it() -> None:
    gone = StreamingQueryException("An error occurred while calling o122.isActive")
    assert in_one_line(gone) == "Spark's Java process died, or does not answer"


def test_an_error_of_several_lines_is_told_in_one() -> None:
    assert (
        in_one_line(ValueError("expected a number\n  price > and\n          ^^^"))
        == "expected a number price > and ^^^"
    )
