"""What Algorithm 1 of Liu et al. 2007 returns as it is printed, which is not quite what it evaluates."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import kernel
from tamis.operators.schedules.truth import TRUE


@kernel
def as_printed(members: Any, subscribers: Any, truth: Any) -> tuple[int, int]:
    """How many subscriptions are taken up in an event, and how many predicates are in E at the end.

    Line 15 adds a predicate to E whether or not line 10 has evaluated it: all of those that a subscription taken up has
    and that are not in E yet. What it evaluates is the same, so the same subscriptions are taken up.
    """
    listed = np.zeros(len(subscribers.start), np.bool_)
    decided = np.zeros(len(members.start), np.bool_)
    taken, count = 0, 0
    for s in range(len(members.start)):
        if decided[s]:
            continue
        taken += 1
        for i in range(members.start[s], members.start[s] + members.length[s]):
            t = members.pool[i]
            if listed[t]:
                continue
            listed[t] = True
            count += 1
            if truth[t] != TRUE:
                for j in range(subscribers.start[t], subscribers.start[t] + subscribers.length[t]):
                    decided[subscribers.pool[j]] = True
    return taken, count
