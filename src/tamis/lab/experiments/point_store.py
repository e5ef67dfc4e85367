"""Store of finished measurements (points of figures) as Parquet; a point that is there need not be run again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from tamis.durable import UNFINISHED, replacing_durably
from tamis.lab.measuring import Figure, Point, Row, Rows
from tamis.lab.timing import occasion

# Columns of every row, beside the figure's own.
POINT, MACHINE, AT, TOOK = "point", "machine", "at", "took_seconds"


@dataclass(frozen=True)
class PointStore:
    """Folder `paper/figure/` with one file a point, named by the figure's version and a hash of the point.

    Figures that share their points have one folder for them.

    A file is there as a whole or not at all, so any number of workers may write, and be killed, at any moment.
    """

    root: Path

    def folder(self, figure: Figure) -> Path:
        return self.root / (figure.shared or figure.name)

    def pictures(self, figure: Figure, name: str) -> list[Path]:
        return [self.root / figure.name / f"{name}{suffix}" for suffix in (".svg", ".png")]

    def path(self, figure: Figure, point: Point) -> Path:
        told = json.dumps(dict(point), sort_keys=True, ensure_ascii=False)
        name = hashlib.blake2b(told.encode(), digest_size=8).hexdigest()
        return self.folder(figure) / f"v{figure.version}-{name}.parquet"

    def has(self, figure: Figure, point: Point) -> bool:
        return self.path(figure, point).exists()

    def missing(self, figure: Figure, points: Sequence[Point]) -> list[Point]:
        return [point for point in points if not self.has(figure, point)]

    def write(self, figure: Figure, point: Point, rows: Rows, took: float) -> None:
        """Saves the rows of a point; a column without values is left out of the file."""
        if not rows:
            raise ValueError(f"{figure.name} gave no row for {dict(point)}")
        path = self.path(figure, point)
        now = occasion()
        machine = "{processor}, {cores} cores".format(**now["machine"])
        about = {POINT: path.stem, MACHINE: machine, TOOK: took, AT: now["at"]}
        full = [{**point, **_known(row), **about} for row in rows]
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing_durably(path) as file:
            pyarrow.parquet.write_table(_table(full), file)

    def rows(self, figure: Figure, points: Sequence[Point]) -> list[Row]:
        """Saved rows of these points, in the points' order."""
        found = [self.path(figure, point) for point in points if self.has(figure, point)]
        return [row for path in found for row in pyarrow.parquet.read_table(path).to_pylist()]

    def forget(self, figure: Figure, points: Sequence[Point]) -> None:
        """Deletes the rows of these points, and whatever a killed run left unfinished."""
        for point in points:
            self.path(figure, point).unlink(missing_ok=True)
        for left in self.folder(figure).glob(f"*{UNFINISHED}"):
            left.unlink(missing_ok=True)


def _table(rows: Sequence[Row]) -> pa.Table:
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def _known(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
