"""Kernels that bring events into the lanes of the adaptive schedule and out of them, and run whole events."""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel
from tamis.operators.schedules.adaptive.kernels import (
    BUCKETS,
    CELL,
    LISTED,
    NUMBERS,
    OPEN,
    RATES_AGAIN,
    RATES_AT,
    TOLD,
    WANTED,
    next_of,
    revise,
    settle,
    unprice,
)  # fmt: skip
from tamis.operators.schedules.problem import DECIDED, NOT_ASKED, matched, undecided


@bare_kernel
def start_some(
    members: Any, subscribers: Any, state: Any, kinds: Any, lane: int, some: Any, begin: int, end: int
) -> None:
    """Begins an event with these subscriptions in question; the lane is clean: all decided, nothing told or live."""
    base, known, numbers = lane * len(members.start), lane * len(subscribers.start), lane * NUMBERS
    for i in range(NUMBERS):
        state.numbers[numbers + i] = 0
    for k in range(kinds.weights.shape[0]):
        state.likelihood[lane * kinds.weights.shape[0] + k] = kinds.weights[k]
    size = 0
    for i in range(begin, end):
        subscription = some[i]
        state.left[base + subscription] = members.length[subscription]
        state.undecided[base + i - begin] = subscription
        first = members.start[subscription]
        for j in range(first, first + members.length[subscription]):
            t = members.pool[j]
            if state.live[known + t] == 0:
                state.wanted[known + size] = t
                state.rate[known + t] = kinds.rate[t]
                size += 1
            state.live[known + t] += 1
    state.numbers[numbers + WANTED] = size
    state.numbers[numbers + LISTED] = end - begin
    state.numbers[numbers + OPEN] = end - begin
    state.numbers[numbers + RATES_AT] = RATES_AGAIN
    revise(members, state, kinds, base, known, lane)


@bare_kernel
def start_like(subscriptions: int, predicates: int, state: Any, other: Any, kinds: int, lane: int) -> None:
    """Begins an event as lane 0 of another state, whatever was in the lane."""
    for i in range(subscriptions):
        state.left[lane * subscriptions + i] = other.left[i]
        state.undecided[lane * subscriptions + i] = other.undecided[i]
    for i in range(CELL * subscriptions):
        state.best[CELL * lane * subscriptions + i] = other.best[i]
    for i in range(predicates):
        state.truth[lane * predicates + i] = other.truth[i]
        state.live[lane * predicates + i] = other.live[i]
        state.rate[lane * predicates + i] = other.rate[i]
        state.promise[lane * predicates + i] = other.promise[i]
        state.wanted[lane * predicates + i] = other.wanted[i]
        state.bucket[lane * predicates + i] = other.bucket[i]
        state.ahead[lane * predicates + i] = other.ahead[i]
        state.behind[lane * predicates + i] = other.behind[i]
    for i in range(BUCKETS):
        state.first[lane * BUCKETS + i] = other.first[i]
    for i in range(NUMBERS):
        state.numbers[lane * NUMBERS + i] = other.numbers[i]
    for k in range(kinds):
        state.likelihood[lane * kinds + k] = other.likelihood[k]


@bare_kernel
def clean(members: Any, subscribers: Any, state: Any, lane: int, some: Any, begin: int, end: int) -> None:
    """Cleans the lane after an event in which these subscriptions were in question."""
    base, known = lane * len(members.start), lane * len(subscribers.start)
    for i in range(begin, end):
        subscription = some[i]
        state.left[base + subscription] = DECIDED
        unprice(state, base + subscription)
        first = members.start[subscription]
        for j in range(first, first + members.length[subscription]):
            state.live[known + members.pool[j]] = 0
    for i in range(known, known + state.numbers[lane * NUMBERS + TOLD]):
        state.truth[known + state.told[i]] = NOT_ASKED


@bare_kernel
def start_each(
    members: Any, subscribers: Any, state: Any, kinds: Any, lanes: Any, queue: Any, begins: Any, ends: Any
) -> None:
    for i in range(len(lanes)):
        start_some(members, subscribers, state, kinds, lanes[i], queue, begins[i], ends[i])


@bare_kernel
def start_each_like(members: Any, subscribers: Any, state: Any, other: Any, kinds: Any, lanes: Any) -> None:
    for i in range(len(lanes)):
        count = kinds.weights.shape[0]
        start_like(len(members.start), len(subscribers.start), state, other, count, lanes[i])


@bare_kernel
def next_of_each(members: Any, subscribers: Any, state: Any, kinds: Any, lanes: Any, out: Any) -> None:
    for i in range(len(lanes)):
        out[i] = next_of(members, subscribers, state, kinds, lanes[i])


@bare_kernel
def settle_each(
    members: Any, subscribers: Any, state: Any, kinds: Any, lanes: Any, predicates: Any, values: Any
) -> None:
    for i in range(len(lanes)):
        settle(members, subscribers, state, kinds, lanes[i], predicates[i], values[i])


@bare_kernel
def dismiss_each(members: Any, state: Any, lanes: Any, subscriptions: Any) -> None:
    for i in range(len(lanes)):
        base = lanes[i] * len(members.start)
        left = state.left[base + subscriptions[i]]
        if undecided(left):
            state.left[base + subscriptions[i]] = DECIDED
            unprice(state, base + subscriptions[i])
            state.numbers[lanes[i] * NUMBERS + OPEN] -= 1


@bare_kernel
def finish_each(
    members: Any,
    subscribers: Any,
    state: Any,
    lanes: Any,
    queue: Any,
    begins: Any,
    ends: Any,
    out: Any,
    counts: Any,
    overwritten: bool,
) -> None:
    """Collects the matches of each lane, and cleans it, unless its next event overwrites the whole of it."""
    written = 0
    for i in range(len(lanes)):
        before = written
        written = matched(state.left, lanes[i] * len(members.start), queue, begins[i], ends[i], out, written)
        counts[i] = written - before
        if not overwritten:
            clean(members, subscribers, state, lanes[i], queue, begins[i], ends[i])


@bare_kernel
def run(
    members: Any,
    subscribers: Any,
    state: Any,
    beginning: Any,
    kinds: Any,
    order: Any,
    truths: Any,
    asked: Any,
    ends: Any,
    out: Any,
    last: Any,
) -> None:
    """Runs events whose truths are known, in lane 0: writes the evaluations in their order, and the matches.

    `ends[e]` and `last[e]` are where event e's part of `asked` and of `out` ends.
    """
    count, written = 0, 0
    for e in range(len(truths)):
        start_like(len(members.start), len(subscribers.start), state, beginning, kinds.weights.shape[0], 0)
        while True:
            predicate = next_of(members, subscribers, state, kinds, 0)
            if predicate < 0:
                break
            asked[count] = predicate
            count += 1
            settle(members, subscribers, state, kinds, 0, predicate, truths[e, predicate])
        written = matched(state.left, 0, order, 0, len(order), out, written)
        ends[e], last[e] = count, written
