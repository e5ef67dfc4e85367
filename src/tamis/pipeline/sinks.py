"""Where matches and dead letters go: a sink is called with a batch's rows and its number, again if the batch is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def to_files(path: str | Path, form: str = "parquet", **options: Any) -> Callable[[DataFrame, int], None]:
    """A sink that writes each batch to a folder of its own, `<path>/batch=<number>`, as parquet, json or the like.

    A batch that is run again overwrites what it wrote before, so nothing is there twice. Read under `path`, the rows
    have the number in the column `batch`.
    """

    def write(rows: DataFrame, batch: int) -> None:
        rows.write.mode("overwrite").options(**options).format(form).save(f"{path}/batch={batch}")

    return write
