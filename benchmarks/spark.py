"""The Spark session and the files that the Spark lines share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet

from benchmarks.findings import LineSkipped
from tamis import pipeline
from tamis.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CORES = 2


def local_session() -> SparkSession:
    """A session on two local cores."""
    try:
        return pipeline.session(f"local[{CORES}]", name="tamis benchmarks")
    except PipelineError as error:
        raise LineSkipped(str(error)) from error


def write_parquet(table: pa.Table, folder: Path, files: int = 2 * CORES) -> Path:
    """The rows in so many files, so that every core has some."""
    folder.mkdir(parents=True)
    rows = -(-table.num_rows // files)
    for number in range(files):
        pyarrow.parquet.write_table(table.slice(number * rows, rows), folder / f"part-{number}.parquet")
    return folder


def drain(frame: DataFrame) -> None:
    """Computes every row and throws it away."""
    frame.write.format("noop").mode("overwrite").save()
