"""Covers found by Spark's workers: each looks up a share of the filters in an index that all of them map."""

from __future__ import annotations

import uuid
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.matching.codes.files import write_arrays
from tamis.pipeline.frames import mapped
from tamis.pipeline.workers.covering import ASKED, CANDIDATES, COVERED, LEFT, THEIRS, Covering
from tamis.routing.covering.search.corners import Corners
from tamis.routing.covering.search.covers import Compared, compare_here
from tamis.routing.covering.search.ground import Ground

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Int64s = npt.NDArray[np.int64]

_FEW = 20_000  # filters that are looked up sooner than a job is started
_A_TASK = 20_000
_TASKS_A_CORE = 4


class SparkCompare:
    """Compares on Spark what is worth a job, and the rest here. Files go to a folder that all workers see."""

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self._session, self._folder = session, folder
        self._numbers = count()
        self._saved: tuple[Ground, Path] | None = None

    def __call__(self, ground: Ground, index: Corners, theirs: Int64s, most: int) -> Compared:
        from pyspark.sql.types import IntegerType, LongType, StructField

        if len(theirs) <= _FEW:
            return compare_here(ground, index, theirs, most)
        round_ = next(self._numbers)
        index_path, theirs_path = (self._folder / f"{name}-{round_}.tamis" for name in ("corners", "theirs"))
        index.save(index_path)
        write_arrays(theirs_path, {THEIRS: theirs}, {})
        cores = self._session.sparkContext.defaultParallelism
        tasks = max(1, min(cores * _TASKS_A_CORE, -(-len(theirs) // _A_TASK)))
        ends = np.linspace(0, len(theirs), tasks + 1).astype(np.int64)
        pieces = pa.table({"start": ends[:-1], "stop": ends[1:]})
        shares = self._session.createDataFrame(pieces).repartitionByRange(tasks, "start")
        worker = Covering(str(self._ground(ground)), str(index_path), str(theirs_path), max(1, most // tasks))
        kinds = (IntegerType(), LongType(), LongType())
        fields = [StructField(name, kind) for name, kind in zip(("kind", "class", "other"), kinds, strict=True)]
        answer = mapped(shares, ["start", "stop"], worker.run, fields).toArrow()
        kind, classes, others = (np.asarray(answer.column(name)) for name in ("kind", "class", "other"))
        pairs = np.stack([classes, others], axis=1)
        return Compared(
            pairs[kind == COVERED], pairs[kind == ASKED], classes[kind == LEFT], int(classes[kind == CANDIDATES].sum())
        )

    def _ground(self, ground: Ground) -> Path:
        """Where the ground of this search lies."""
        if self._saved is None or self._saved[0] is not ground:
            path = self._folder / f"ground-{uuid.uuid4().hex}.tamis"
            ground.save(path)
            self._saved = ground, path
        return self._saved[1]
