"""Select-joins are exact: random histories through all nine schemes, held to a database after every event (P3)."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.findings import Finding, Options
from tamis.joins.schemes.scheme import SCHEMES
from tamis.testing.join_proof import prove

HISTORIES = 10_000


def run(options: Options) -> Iterator[Finding]:
    histories = options.subscriptions(HISTORIES)
    start = time.perf_counter()
    tally = prove(range(histories))  # raises where a client differs
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
