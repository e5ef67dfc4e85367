"""Cost of one subscription more among those that are there, whenever it is paid."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from tamis.errors import TamisError
from tamis.lab.comparison.measuring import built, warm_up
from tamis.lab.measuring.timing import seconds, uncollected
from tamis.workloads import Workload


@dataclass(frozen=True)
class Adding:
    """Subscriptions added one by one to `present` others, and made use of by a match after every `between` of them.

    `seconds_per_add` is the mean over all that were added: the calls, and what they put off to the next match (its
    time, less that of matching the same event once more). `seconds_per_call` is the calls alone. `worst_seconds` is
    the dearest single call, or call and match together where every one is followed by a match.
    """

    matcher: str
    workload: str
    present: int
    added: int
    seconds_per_add: float
    seconds_per_call: float
    worst_seconds: float
    between: int

    def to_row(self) -> dict[str, Any]:
        """Plain values by name: for JSON, or for a row of a table."""
        return asdict(self)


def measure_adding(
    matcher: str,
    workload: Workload,
    extra: pa.Table,
    *,
    budget_seconds: float = 10.0,
    warm: bool = True,
    options: Mapping[str, Any] | None = None,
    between: int = 1,
) -> Adding:
    """Adds the rows of `extra` (columns `id` and `filter`) one by one, for about so many seconds, at least one.

    `between=1`: the next event meets each of them at once. More is how a stream of changes goes, and cheaper where a
    matcher puts work off.
    """
    if not len(extra):
        raise TamisError("there is nothing to add")
    if not len(workload.events):
        raise TamisError(f"the workload {workload.name} has no events to measure with")
    event = workload.schema.to_arrow(workload.events.slice(0, 1))
    if warm:
        small = warm_up(matcher, workload, options)
        small.add(extra.slice(0, 1))
        small.match(event)
    index, _ = built(matcher, workload, options)
    index.match(event)
    present, added = len(index), 0
    calls = put_off = worst = 0.0
    with uncollected():
        begun = time.process_time()
        for row in extra.to_pylist():
            call = seconds(partial(index.add, {row["id"]: row["filter"]}))
            added, calls = added + 1, calls + call
            late = added == len(extra) or time.process_time() - begun > budget_seconds
            if added % between == 0 or late:
                left = seconds(lambda: index.match(event)) - seconds(lambda: index.match(event))
                put_off += left
                call += left if between == 1 else 0
            worst = max(worst, call)
            if late:
                break
    return Adding(matcher, workload.name, present, added, (calls + put_off) / added, calls / added, worst, between)
