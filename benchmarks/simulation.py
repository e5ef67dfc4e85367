"""Join schemes over a simulated network: how long a million subscriptions take, and what CN* saves (P3 §5, §6)."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.findings import Finding, Options
from tamis.lab.simulation.joins import simulate
from tamis.lab.simulation.simulation import Star, overlay_of
from tamis.workloads.select_joins import select_joins

LARGE, EVENTS = 1_000_000, 59_000
BAR_SECONDS = 300.0
SMALL, MANY = 100_000, 500_000
COUNTED = 300
LESS_BAR, GROWTH_BAR = 1_000, 1.3
TRAFFIC_ROWS, LATENCY_ROWS = 500, 200  # of R, as in the paper's Figures 11 and 12
STAR_PAYLOAD, REPOSITORY, WARM_UP, STAR_EVENTS = 1_000, 400, 12_000, 500
TRAFFIC_BAR, LATENCY_BAR = 5.0, 1.1


def run(options: Options) -> Iterator[Finding]:
    overlay = overlay_of()
    yield _whole(options)
    small, many = options.subscriptions(SMALL), options.subscriptions(MANY)
    server = {
        (name, size): simulate(name, select_joins(size, COUNTED, 1), overlay, events=COUNTED)
        for name, size in (("enum-j", many), ("ref-sj-clu+", many), ("ref-sj-clu+", small))
    }
    clu = server["ref-sj-clu+", many]
    less = server["enum-j", many].server / clu.server
    growth = clu.server / server["ref-sj-clu+", small].server
    yield Finding(
        what=f"server stress, Enum-J ÷ Ref-SJ-Clu⁺, {many:,} subscriptions (CAN)",
        workload="select_joins",
        measured=f"{less:,.0f} times",
        bar=f"≥ {LESS_BAR:,}",
        reached=less >= LESS_BAR,
        details={
            "fan-out of the server's node": round(clu.fan_out, 2),
            "bytes an event": round(clu.an_event(clu.server)),
        },
    )
    yield Finding(
        what=f"server stress of Ref-SJ-Clu⁺, {many:,} ÷ {small:,} subscriptions (CAN)",
        workload="select_joins",
        measured=f"{growth:.2f} times",
        bar=f"≤ {GROWTH_BAR}",
        reached=growth <= GROWTH_BAR,
    )
    yield from _star(small)


def _whole(options: Options) -> Finding:
    """A million subscriptions and all the paper's events, networks built and all."""
    subscriptions = options.subscriptions(LARGE)
    overlay = overlay_of()
    simulate("ref-sj-clu+", select_joins(1_000, 10, 1), overlay, events=10)  # compiled by then
    workload = select_joins(subscriptions, EVENTS, 1)
    start = time.perf_counter()
    traffic = simulate("ref-sj-clu+", workload, overlay)
    seconds = time.perf_counter() - start
    return Finding(
        what=f"Ref-SJ-Clu⁺, {subscriptions:,} subscriptions × {EVENTS:,} events over 1,000 nodes, wall clock",
        workload="select_joins",
        measured=f"{seconds:.1f} s",
        bar=f"≤ {BAR_SECONDS:.0f}",
        reached=seconds <= BAR_SECONDS,
        details={name: round(value, 2) for name, value in traffic.row.items()},
    )


def _star(subscriptions: int) -> Iterator[Finding]:
    """CN* beside CN over the same events, each number at the size of R that the paper measures it at."""
    for rows in (TRAFFIC_ROWS, LATENCY_ROWS):
        workload = select_joins(subscriptions, WARM_UP + STAR_EVENTS, 1, r_rows=rows)
        plain, kept = (
            simulate(
                "ref-sj-clu+", workload, overlay_of(), events=STAR_EVENTS, warm_up=WARM_UP, payload=STAR_PAYLOAD,
                star=star, counting=True,
            )
            for star in (None, Star(repository=REPOSITORY))
        )  # fmt: skip
        where = f"Ref-SJ-Clu⁺, {rows} rows of R, {STAR_PAYLOAD:,}-byte payloads, repositories of {REPOSITORY}"
        traffic, latency = plain.bytes / kept.bytes, kept.hop_latency / plain.hop_latency
        details: dict[str, object] = {
            "events before, which fill repositories": WARM_UP,
            "kB an event": [round(one.an_event(one.bytes) / 1000, 1) for one in (plain, kept)],
            "hops to a subscription": [round(one.hop_latency, 2) for one in (plain, kept)],
            "payloads asked for an event": round(kept.an_event(kept.asks), 1),
        }
        if rows == TRAFFIC_ROWS:
            yield Finding(
                what=f"traffic, CN ÷ CN*, {where}", workload="select_joins", measured=f"{traffic:.1f} times",
                bar=f"≥ {TRAFFIC_BAR:g}", reached=traffic >= TRAFFIC_BAR, details=details,
            )  # fmt: skip
        else:
            yield Finding(
                what=f"hop latency, CN* ÷ CN, {where}", workload="select_joins", measured=f"{latency:.2f} times",
                bar=f"≤ {LATENCY_BAR}", reached=latency <= LATENCY_BAR, details=details,
            )  # fmt: skip
