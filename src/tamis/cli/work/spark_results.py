"""What a command has Spark write: new folders, JSON lines where the name ends so, Parquet otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tamis.cli.base.paths import Format, format_of, require_new_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMATS = (Format.JSON_LINES, Format.JSON, Format.PARQUET)


def require_new(output: Path, dead_letters_to: Path | None) -> Path:
    """Complains now of what Spark could not write; returns where dead letters go: beside it if not said."""
    dead_to = dead_letters_to or output.with_name(f"{output.stem}-dead-letters{output.suffix}")
    for path in (output, dead_to):
        _form(path)
        require_new_folder(path)
    return dead_to


def written(rows: DataFrame, path: Path) -> int:
    """Writes a folder and tells how many rows it has, counted as they went by."""
    from pyspark.sql import Observation, functions

    seen = Observation()
    rows.observe(seen, functions.count(functions.lit(1)).alias("rows")).write.format(_form(path)).save(
        str(path.absolute())
    )
    return int(seen.get["rows"])


def _form(path: Path) -> str:
    return "json" if path.suffix and format_of(path, FORMATS, "results of Spark") is not Format.PARQUET else "parquet"
