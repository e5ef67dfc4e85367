"""Cause of an error of Spark, in one line."""

from __future__ import annotations

import re
from typing import Final

# Processes that ended without a word: killed, or for want of memory. What is left to read speaks of their connections.
_ENDED: Final = (
    (
        re.compile(r"Python worker exited unexpectedly"),
        "a Python worker of Spark's died: it was killed, ran out of memory, or crashed in compiled code",
    ),
    (
        # With an error of Java's, lines of it would follow.
        re.compile(r"\A(?:An error occurred while calling \S+|Answer from Java side is empty)\s*\Z"),
        "Spark's Java process died, or does not answer",
    ),
)
# Python's own lines first: where a worker failed, Java's around them say only that. A call from Python into Java that
# failed is no cause: Java's own lines come after it.
_CAUSES: Final = (
    re.compile(
        r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+(?:[\w.]+\.)?(?!Py4JJavaError)(\w+(?:: .+)?)$",
        re.MULTILINE,
    ),
    re.compile(r"^(?:[\w.]+\.)?(?!Py4JJavaError)(\w+(?:Error|Exception): .+)$", re.MULTILINE),
    re.compile(r"^(?:: |Caused by: )(?:[\w.$]+\.)?(\w+: .+)$", re.MULTILINE),
)


def is_spark_error(error: BaseException) -> bool:
    """PySpark may not be installed, so its errors are known by where they come from."""
    return type(error).__module__.partition(".")[0] in ("pyspark", "py4j")


def spark_cause(error: BaseException) -> str:
    """The line that says what happened: it stands somewhere in a page of two languages' tracebacks."""
    for ended, told in _ENDED:
        if ended.search(str(error)):
            return told
    for pattern in _CAUSES:
        if causes := pattern.findall(str(error)):
            return str(causes[-1])
    return str(error).partition("\n")[0]


def in_one_line(error: BaseException) -> str:
    """Cause of an error in one line, for a log: Spark's own errors have pages, and those of others may have lines."""
    told = spark_cause(error) if is_spark_error(error) else str(error)
    return " ".join(told.split())
