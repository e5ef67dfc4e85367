"""Run of the demo: prepares kernels, subscriptions and Spark, streams, changes subscriptions, writes the results."""

from __future__ import annotations

import itertools
import os
import time
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

import tamis
from tamis import pipeline
from tamis.cli.base.terminal import out
from tamis.cli.demo.screen import Screen
from tamis.cli.demo.stream import AuctionHouse, AuctionStream, ResultsFolder, demo_schema
from tamis.cli.work.spark import spark_session
from tamis.matching.base.statistics import Statistics
from tamis.pipeline.session import require_spark
from tamis.workloads.auction_lots import interests, lots

_KERNEL_SUBSCRIPTIONS = 2_000  # enough to meet every kernel
_SAMPLE = 5_000  # events that the index is planned with
_CHANGED = 0.01  # the share of subscriptions that come and go in mid-stream
_TICK = 0.25  # seconds
# The first micro-batch starts the workers, a few more let the JVM compile what is hot. Several files, so that every
# worker has something to do.
_WARM_UP = 4
_WARM_UP_FILES = 4


def perform(output: Path, subscriptions: int, seconds: float, rate: int, seed: int) -> None:
    """Runs the whole demo: prepares, streams, and leaves a folder of results."""
    require_spark()
    screen = Screen(out)
    folder = ResultsFolder(output)
    folder.make()
    screen.panel(f"[bold]Tamis[/bold]: auctions stream through Spark against {subscriptions:,} subscriptions")
    with screen.step(
        "preparing kernels (on the first run they are compiled, which takes a while)", "kernels are ready"
    ):
        _prepare_kernels()
    filters, table = _subscribe(screen, folder, subscriptions, seed)
    with ExitStack() as running:
        with screen.step("starting Spark", "Spark is running"):
            session = running.enter_context(spark_session(folder.log))
        stream = AuctionStream(session, folder, filters)
        _run(screen, stream, AuctionHouse(folder.events, rate, seed), _Change(table, filters), seconds)
    _finish(screen, folder, stream, subscriptions, rate)


def _prepare_kernels() -> None:
    """Compiles and caches the kernels; else every worker would do it by itself in the first micro-batch."""
    schema = demo_schema()
    drawn = {f"s{number}": text for number, text in enumerate(itertools.islice(interests(), _KERNEL_SUBSCRIPTIONS))}
    later = {f"t{number}": text for number, text in enumerate(drawn.values())}
    events = schema.to_arrow(list(itertools.islice(lots(), 200)))
    index = tamis.compile(drawn, schema, statistics=Statistics.from_events(events))
    index.match(events)
    index.add(later)
    index.remove(list(drawn)[:100])
    index.match(events)


def _subscribe(
    screen: Screen, folder: ResultsFolder, count: int, seed: int
) -> tuple[dict[str, str], pipeline.SubscriptionTable]:
    """Draws the subscriptions and creates a table of them; some are held back, to be added later."""
    schema = demo_schema()
    with screen.step("drawing subscriptions", f"{count:,} subscriptions drawn"):
        drawn = itertools.islice(interests(seed), count + _changed(count))
        filters = {f"s{number}": text for number, text in enumerate(drawn)}
        listed = pa.table({"id": list(filters), "filter": list(filters.values())})
        pyarrow.parquet.write_table(listed, folder.subscription_list)
        folder.schema.write_text(schema.to_yaml(), encoding="utf-8")
    with screen.step("compiling them", "compiled to an index on disk"):
        past = schema.to_arrow(list(itertools.islice(lots(seed + 1), _SAMPLE)))
        index = tamis.compile(listed.slice(0, count), schema, statistics=Statistics.from_events(past))
        table = pipeline.SubscriptionTable.create(folder.subscriptions, index)
    return filters, table


def _changed(count: int) -> int:
    return max(1, int(count * _CHANGED))


class _Change:
    """Change of subscriptions in mid-stream, once: the oldest leave, those held back take their place."""

    def __init__(self, table: pipeline.SubscriptionTable, filters: dict[str, str]) -> None:
        self._table = table
        self._filters = list(filters.items())
        self._count = len(filters) - len(table)
        self.note = ""

    def once(self, now: float) -> None:
        if not self.note:
            come, gone = self._filters[-self._count :], self._filters[: self._count]
            self._table.change(add=dict(come), remove=[id for id, _ in gone])
            self.note = f"{self._count:,} subscriptions added, {self._count:,} removed at {now:.0f} s"


def _run(screen: Screen, stream: AuctionStream, house: AuctionHouse, change: _Change, seconds: float) -> None:
    try:
        with screen.step("warming up", f"{_WARM_UP} micro-batches to warm up"):
            for _ in range(_WARM_UP):
                house.write_files(_WARM_UP_FILES)
                stream.catch_up()
                stream.check()
        stream.begin()
        house.start()
        with screen.streaming(seconds) as show:
            while stream.now < seconds:
                time.sleep(_TICK)
                stream.check()
                if stream.now > seconds / 2:
                    change.once(stream.now)
                show(stream.view(change.note))
            house.close()
            stream.catch_up()
            show(stream.view(change.note))
    finally:
        house.close()
        stream.stop()


def _finish(screen: Screen, folder: ResultsFolder, stream: AuctionStream, subscriptions: int, rate: int) -> None:
    # matplotlib takes a second to import, and only the demo and backtests draw.
    from tamis.cli.demo.measurements import plot

    records = stream.measurements.records
    whole = stream.measurements.figures(records[-1].finished if records else stream.now)
    with screen.step("drawing the plot", f"plot and notes written to {folder.root}"):
        plot(records, whole, subscriptions, folder.plots)
        folder.finish(whole, subscriptions, {"rate_offered": rate, "cores": os.cpu_count()})
    left = (
        (folder.plots[0], "the run as a picture"),
        (folder.matches, "who was to be told of what"),
        (folder.dead_letters, f"{whole.dead:,} events that were refused, and why"),
        (folder.notes, "how to open these"),
    )
    width = max(len(str(path)) for path, _ in left)
    screen.panel(
        f"{whole.events:,} events, {whole.matches:,} matches in {whole.seconds:.0f} s\n"
        f"event written → match written: median {whole.p50:.2f} s, 95th percentile {whole.p95:.2f} s\n\n"
        + "\n".join(f"[bold]{path!s:<{width}}[/bold]  {what}" for path, what in left)
    )
