"""The folder that the demo leaves behind, and the notes that say how to open what is in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tamis.cli.base.failures import CommandError
from tamis.cli.demo.measurements import Figures

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


class ResultsFolder:
    """`demo-results/`. Made anew by every run; a folder that the demo did not make is never touched."""

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
        """Notes and numbers, once the stream has ended."""
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
