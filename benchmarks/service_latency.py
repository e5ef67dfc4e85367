"""From publish to a reader of server-sent events; and what a crowd of readers and broken webhooks changes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.findings import Finding, LineSkipped, Options
from benchmarks.service.load import Load, lanes, latencies, subscribe
from benchmarks.service.server import Server
from tamis.lab.timing import percentile

SUBSCRIPTIONS = 100_000
RATE = 500.0
SECONDS = 40.0
READERS = 50
CROWD = 1_000
BROKEN = 50
BAR_SECONDS = 2.0
CROWD_BAR = 1.5


def run(options: Options) -> Iterator[Finding]:
    count = options.subscriptions(SUBSCRIPTIONS)
    load = Load.of(count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        schema, subscriptions = load.write(folder)
        state = folder / "state"
        import_subscriptions(subscriptions, schema, state)
        with Server(state, schema, "--allow-private") as server:
            server.wait_until_ready()
            readers = subscribe(server, lanes(READERS))
            asyncio.run(latencies(server, load, readers, rate=RATE, a_request=10, seconds=15))  # warms everything up
            workload = f"le_subscribe p=1, {count:,} subscriptions, {RATE:.0f} events/s"
            quiet = 0.0
            for a_request in (1, 10):
                taken = asyncio.run(latencies(server, load, readers, rate=RATE, a_request=a_request, seconds=SECONDS))
                p50, p99 = percentile(taken, 0.5), percentile(taken, 0.99)
                yield Finding(
                    what="publish to server-sent event, p99",
                    workload=f"{workload}, {a_request} a request",
                    measured=f"{p99:.2f} s (p50 {p50:.2f} s)",
                    bar=f"≤ {BAR_SECONDS:g} s",
                    reached=p99 <= BAR_SECONDS,
                    details={"p50_s": p50, "p99_s": p99, "worst_s": max(taken), "notifications": len(taken)},
                )
                quiet = p99
            crowd = subscribe(server, lanes(CROWD))
            subscribe(server, lanes(BROKEN), delivery={"mode": "webhook", "url": "http://127.0.0.1:9/hook"})
            asyncio.run(latencies(server, load, readers, rate=RATE, a_request=10, seconds=10, idle=crowd))
            taken = asyncio.run(latencies(server, load, readers, rate=RATE, a_request=10, seconds=SECONDS, idle=crowd))
    p50, p99 = percentile(taken, 0.5), percentile(taken, 0.99)
    yield Finding(
        what=f"p99 with {CROWD:,} more readers and {BROKEN} broken webhooks / without",
        workload=f"{workload}, 10 a request",
        measured=f"{p99 / quiet:.2f}×",
        bar=f"≤ {CROWD_BAR}×",
        reached=p99 / quiet <= CROWD_BAR,
        details={"p50_s": p50, "p99_s": p99, "without_p99_s": quiet, "notifications": len(taken)},
    )


def import_subscriptions(subscriptions: Path, schema: Path, state: Path) -> None:
    """Through the command that users have."""
    where = ["--state", str(state), "--schema", str(schema)]
    command = [sys.executable, "-m", "tamis.cli", "import", str(subscriptions), *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LineSkipped(f"the subscriptions could not be imported: {done.stderr[-1000:]}")
