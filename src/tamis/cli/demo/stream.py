"""Stream of the demo: an auction house writes lots to a folder, and a query matches them from there.

Every micro-batch is measured when its matches and dead letters are on disk.
"""

from __future__ import annotations

import itertools
import json
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from tamis import pipeline
from tamis.cli.base.options import CommandError
from tamis.cli.demo.measurements import RECENT, BatchRecord, Figures, Measurements
from tamis.cli.demo.screen import Sample, View
from tamis.errors import PipelineError
from tamis.schema import Schema
from tamis.schema.timestamps import write_instant
from tamis.spark_cause import spark_cause
from tamis.workloads.auction_lots import auction_schema, json_lines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MARK = ".tamis-demo"

_README = """\
What the Tamis demo left here
=============================

plot.png, plot.svg     throughput and latency over the run
summary.json           the same in numbers
matches/               Parquet: every valid event, with the list of subscriptions that it matched
dead-letters/          Parquet: every event that broke the schema, with the reason
events/                the auctions as they were streamed, in JSON lines
subscriptions.parquet  the subscriptions: id and filter
subscriptions/         the same, compiled
schema.yaml            what an auction may look like
spark.log              what Spark had to say

In Python:

    import pyarrow.dataset as ds
    matches = ds.dataset("{folder}/matches", format="parquet").to_table()
    print(matches.select(["title", "price", "subscriptions"]).slice(0, 5).to_pylist())

On the command line (in .venv/bin, if you came here by `make demo`):

    tamis match {folder}/subscriptions {folder}/events/lots-000001.jsonl | head
    tamis explain {folder}/subscriptions {id} {folder}/events/lots-000001.jsonl --row 7
"""

WRITTEN = "written"
_FILES_A_SECOND = 5
_POOL = 20_000
_MALFORMED = 0.001
_SAMPLES = 4


class ResultsFolder:
    """Folder of results, `demo-results/`. Replaced by every run; other folders are never touched."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.events = root / "events"
        self.subscriptions = root / "subscriptions"
        self.matches = root / "matches"
        self.dead_letters = root / "dead-letters"
        self.checkpoint = root / ".checkpoint"
        self.subscription_list = root / "subscriptions.parquet"
        self.log = root / "spark.log"
        self.schema = root / "schema.yaml"
        self.notes = root / "README.txt"
        self.plots = (root / "plot.png", root / "plot.svg")

    def make(self) -> None:
        if self.root.exists():
            if any(self.root.iterdir()) and not (self.root / _MARK).exists():
                raise CommandError(f"{self.root}: there is something else in this folder; give another with --output")
            shutil.rmtree(self.root)
        self.events.mkdir(parents=True)
        (self.root / _MARK).touch()

    def finish(self, whole: Figures, subscriptions: int, settings: dict[str, object]) -> None:
        """Writes notes and numbers, once the stream has ended."""
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        self.notes.write_text(_README.format(folder=self.root, id=f"s{subscriptions - 1}"), encoding="utf-8")
        summary = {
            "subscriptions": subscriptions,
            "seconds": round(whole.seconds, 2),
            "events": whole.events,
            "events_per_second": round(whole.events_a_second, 1),
            "matches": whole.matches,
            "matches_per_event": round(whole.matches_an_event, 2),
            "dead_letters": whole.dead,
            "latency_seconds": {"p50": round(whole.p50, 3), "p95": round(whole.p95, 3), "after": "warm-up"},
            **settings,
        }
        (self.root / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def demo_schema() -> Schema:
    """Schema of the auctions, extended by the time at which an event was written: latency is measured from it."""
    types = auction_schema().event_types
    return auction_schema().extend(
        attributes={WRITTEN: "timestamp"}, optional={name: {WRITTEN: "optional"} for name in types}
    )


class AuctionHouse(threading.Thread):
    """Producer of the demo: writes a file of lots every fifth of a second, some of them malformed, until it is closed.

    A file appears under its name only when it is complete, as a streaming source expects. `events` and `files` say how
    much has been written so far.
    """

    def __init__(self, folder: Path, rate: int, seed: int = 1) -> None:
        super().__init__(name="auction house", daemon=True)
        self._folder = folder
        self._lines = itertools.cycle(list(json_lines(_POOL, seed, malformed=_MALFORMED)))
        self._lots = max(1, rate // _FILES_A_SECOND)
        self._closing = threading.Event()
        self.events = 0
        self.files = 0

    def run(self) -> None:
        due = time.monotonic()
        while not self._closing.is_set():
            self.write_files(1)
            # Counted from the start, so that a slow write does not lower the rate.
            due += 1 / _FILES_A_SECOND
            self._closing.wait(max(0.0, due - time.monotonic()))

    def write_files(self, count: int) -> None:
        for _ in range(count):
            partial = self._folder / f".lots-{self.files:06}.jsonl"
            partial.write_text("\n".join(self._stamped(self._lots)) + "\n", encoding="utf-8")
            partial.replace(self._folder / partial.name[1:])
            self.events += self._lots
            self.files += 1

    def close(self) -> None:
        self._closing.set()
        if self.is_alive():
            self.join()

    def _stamped(self, count: int) -> Iterator[str]:
        moment = write_instant(datetime.now(UTC))
        for line in itertools.islice(self._lines, count):
            yield f'{line[:-1]}, "{WRITTEN}": "{moment}"}}' if line.endswith("}") else line


class AuctionStream:
    """Running query over the folder's events. Its counts are in `measurements`, its newest matches in `samples`.

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
        """Begins to count: earlier batches were the warm-up."""
        self.measurements = Measurements()
        self._began = time.time()

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return time.time() - self._began

    def check(self) -> None:
        """Raises an error if the query has died."""
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
