"""The demo's query: lots in, matches and dead letters to files, every micro-batch measured when it is on disk."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from tamis import pipeline
from tamis.cli.demo.auction_house import WRITTEN
from tamis.cli.demo.folder import ResultsFolder
from tamis.cli.demo.measurements import RECENT, BatchRecord, Measurements
from tamis.cli.demo.screen import Sample, View
from tamis.errors import PipelineError
from tamis.spark_cause import spark_cause

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SAMPLES = 4


class AuctionStream:
    """A running query over the folder's events. What it did is in `measurements`, the latest of it in `samples`.

    Latency is taken at the far end: an event's matches count as written when Spark has committed their Parquet files.
    """

    def __init__(self, session: SparkSession, folder: ResultsFolder, filters: Mapping[str, str]) -> None:
        self._folder = folder
        self._filters = filters
        self._began = time.time()
        self._write_matches = pipeline.to_files(folder.matches.absolute())
        self._write_dead = pipeline.to_files(folder.dead_letters.absolute())
        self.measurements = Measurements()
        self.samples: list[Sample] = []
        self._query = pipeline.stream(
            pipeline.read_json_lines(session, folder.events.absolute(), stream=True),
            folder.subscriptions.absolute(),
            matches=self._matches,
            dead_letters=self._dead_letters,
            checkpoint=folder.checkpoint.absolute(),
            json="value",
            output="arrays",
        )

    def begin(self) -> None:
        """What came before was warming up: from here on it counts."""
        self.measurements = Measurements()
        self._began = time.time()

    @property
    def now(self) -> float:
        """Seconds since it began."""
        return time.time() - self._began

    def check(self) -> None:
        """Complains if the query has died."""
        error = self._query.exception()
        if error is not None:
            raise PipelineError(f"the stream stopped: {spark_cause(error)} (more in {self._folder.log})")

    def catch_up(self) -> None:
        """Waits until everything written so far is matched."""
        self._query.processAllAvailable()

    def view(self, note: str) -> View:
        now = self.now
        figures = self.measurements.figures
        return View(now, figures(now, RECENT), figures(now), self.samples, note)

    def stop(self) -> None:
        self._query.stop()

    def _matches(self, rows: DataFrame, batch: int) -> None:
        self._write_matches(rows, batch)
        finished = time.time()
        written = _read_back(self._folder.matches, batch, [WRITTEN, "title", "price", "subscriptions"])
        if not len(written):
            return
        counts = pc.list_value_length(written["subscriptions"])
        stamps = written[WRITTEN].cast(pa.timestamp("us", "UTC")).filter(pc.greater(counts, 0)).drop_null()
        since = stamps.cast(pa.int64()).to_numpy() / 1e6
        self.measurements.add(
            BatchRecord(finished - self._began, len(written), pc.sum(counts).as_py(), 0, np.asarray(finished - since))
        )
        self.samples = self._sampled(written.filter(pc.greater(counts, 0)))

    def _dead_letters(self, rows: DataFrame, batch: int) -> None:
        self._write_dead(rows, batch)
        self.measurements.add_dead(len(_read_back(self._folder.dead_letters, batch, ["reason"])))

    def _sampled(self, matched: pa.Table) -> list[Sample]:
        shown = []
        for row in matched.slice(max(0, len(matched) - _SAMPLES)).to_pylist():
            title = row["title"] or "untitled lot"
            ids = row["subscriptions"]
            shown.append(Sample(f"{title}, {row['price']:,.2f}", len(ids), self._filters.get(ids[0], ids[0])))
        return shown


def _read_back(folder: Path, batch: int, columns: list[str]) -> pa.Table:
    return pyarrow.dataset.dataset(folder / f"batch={batch}", format="parquet").to_table(columns=columns)
