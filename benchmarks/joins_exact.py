"""Select-joins are exact: random histories through all nine schemes, held to a database after every event (P3)."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import astuple

from rich.progress import track

from benchmarks.findings import Finding, Options
from tamis.joins.schemes.scheme import SCHEMES
from tamis.testing.join_proof import Tally, prove

HISTORIES = 10_000
AT_ONCE = 20  # histories handed to a process, and a step of the progress bar


def run(options: Options) -> Iterator[Finding]:
    histories = options.subscriptions(HISTORIES)
    start = time.perf_counter()
    tally = _proved(histories)  # raises where a client differs
    seconds = time.perf_counter() - start
    yield Finding(
        what=f"histories whose clients equal DuckDB after every event, {len(SCHEMES)} schemes",
        workload="join_history",
        measured=f"{tally.histories:,}",
        bar="all",
        reached=tally.histories == histories,
        details={
            "events": tally.events, "of these refused": tally.refused, "contents compared": tally.contents,
            "results in the database's": tally.results, "seconds": round(seconds),
        },
    )  # fmt: skip


def _proved(histories: int) -> Tally:
    """All histories, on all cores."""
    pieces = [range(first, min(first + AT_ONCE, histories)) for first in range(0, histories, AT_ONCE)]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        playing = [pool.submit(prove, piece) for piece in pieces]
        try:
            done = [one.result() for one in track(as_completed(playing), "histories", total=len(playing))]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return Tally(*(sum(column) for column in zip(*map(astuple, done), strict=True)))
