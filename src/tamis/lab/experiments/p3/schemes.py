"""Common parts of P3's server figures: the join schemes, their plot styles, and the measurement of one of them."""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np

from tamis.joins.index.messages import Form
from tamis.lab.measuring import Point, Row, Rows, Style
from tamis.lab.simulation.joins import SHAPE, Trial
from tamis.workloads.select_joins import S_ROWS, SelectJoins, select_joins

STYLES = {
    "enum-j": Style("Enum-J", "#c8553d"),
    "enum-sj": Style("Enum-SJ", "#e09f3e", "s"),
    "ref-j": Style("Ref-J", "#6a4c93", "v"),
    "ref-j+": Style("Ref-J⁺", "#d16ba5", "<"),
    "rel-sel": Style("Rel-Sel", "#9a9a9a", "x", "--"),
    "ref-sj-sub": Style("Ref-SJ-Sub", "#7a8f3c", "d", "-."),
    "ref-sj-tup": Style("Ref-SJ-Tup", "#2a9d8f", ">", "-."),
    "ref-sj-clu": Style("Ref-SJ-Clu", "#8d5b3a", "^"),
    "ref-sj-clu+": Style("Ref-SJ-Clu⁺", "#1f5f8b", "D"),
}
NAMES = {name: style.label for name, style in STYLES.items()}
WORKLOAD = (
    "R(A, B) of 16,000 rows and S(B, C) of 5,100 rows on 70 of 100 join keys, joined on B; a subscription selects a "
    "range of A and one of C (Table 2, in the reading that gives Table 4: `tamis.workloads.select_joins`). An event "
    "is a row of R that comes and the oldest that goes; tuples have 100 bytes of payload"
)
EVENTS = 60_000
WARMING = 500
PAYLOAD = 100


@lru_cache(maxsize=1)  # the schemes at one size come one after the other
def workload(subscriptions: int, s_rows: int, seed: int = 1) -> SelectJoins:
    return select_joins(subscriptions, EVENTS, seed, s_rows=s_rows)


def measured(point: Point) -> Rows:
    """Processor time for an event of one scheme at one point, all messages made."""
    chosen = workload(int(point["subscriptions"]), int(point.get("s_rows", S_ROWS)))
    trial = Trial(str(point["scheme"]), chosen)
    trial.play(min(WARMING, chosen.events // 4))
    seconds, start, step = 0.0, trial.played, 10
    while seconds < float(point["budget"]) and trial.played + step <= chosen.events:
        changes = trial.next(step)
        begun = time.process_time()
        trial.scheme.change(changes)
        seconds += time.process_time() - begun
        # Batches of some ten milliseconds or of a thousand events: what a call costs does not count then.
        step = int(np.clip((trial.played - start) / max(seconds, 1e-6) * 0.05, 10, 1000))
    events = trial.played - start
    return [{"events": events, "us_per_event": seconds / events * 1e6}]


def sent(point: Point) -> Rows:
    """Messages and bytes for an event of one scheme at one point."""
    events = int(point["events"])
    trial = Trial(str(point["scheme"]), select_joins(int(point["subscriptions"]), events, int(point["seed"])))
    messages = size = 0
    while trial.played < events:
        batch = trial.play(10)
        messages, size = messages + len(batch), size + int(batch.sizes(SHAPE, PAYLOAD).sum())
    return [{"messages": messages / events, "bytes": size / events}]


def descriptions(point: Point) -> Rows:
    """Bytes of the four descriptions of an added tuple, on average over events that affect some subscription."""
    chosen = select_joins(int(point["subscriptions"]), int(point["events"]), int(point["seed"]))
    affecting = None
    row: dict[str, float] = {}
    for name in ("ref-sj-sub", "ref-sj-tup", "ref-sj-clu", "ref-sj-clu+"):
        messages = Trial(name, chosen).play(chosen.events)
        told = np.isin(messages.form, (Form.POINTS, Form.SKYLINE)) & (messages.event % 2 == 0)
        if affecting is None:  # the first describes the affected themselves, and is not there if nobody is
            affecting = messages.event[told]
        told &= np.isin(messages.event, affecting)
        row[name] = float(4 * np.diff(messages.first_number)[told].mean()) if told.any() else 0.0
    return [{**row, "affecting": 0 if affecting is None else len(affecting)}]


def at(rows: Rows, scheme: str, x: str, value: float) -> Row:
    """Row of one scheme at the point nearest to a value."""
    return min((row for row in rows if row["scheme"] == scheme), key=lambda row: abs(row[x] - value))
