"""Where events come from: files, and folders that fill up. Any other DataFrame will do as well."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_json_lines(session: SparkSession, path: str | Path, *, stream: bool = False, **options: Any) -> DataFrame:
    """JSON lines as they are, in the column `value`: a malformed line must come through, to become a dead letter.

    Blank lines are no events. `stream` takes files as they appear in the folder; `options` go to Spark's reader.
    """
    reader = session.readStream if stream else session.read
    return reader.options(**options).text(str(path)).where("trim(value) != ''")


def read_parquet(session: SparkSession, path: str | Path, *, stream: bool = False, **options: Any) -> DataFrame:
    """Parquet files, a column an attribute. A stream has the columns of the files that are there when it starts."""
    now = session.read.options(**options).parquet(str(path))
    return session.readStream.options(**options).schema(now.schema).parquet(str(path)) if stream else now
