"""Kernels of schedules in a fixed order: events begun and ended in lanes, the next predicate of an event, and the
subscriptions that its truth decides.

An event's state lies in a lane of flat arrays: lane i has the subscriptions' part at `i * subscriptions` and the
predicates' part at `i * predicates`. A lane is *clean* if nothing is in question and nothing was told.
"""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel
from tamis.operators.schedules.problem import DECIDED, MATCHED, NOT_ASKED, TRUE, matched, undecided

NAIVE, SEQUENTIAL, STOPPING = 0, 1, 2  # ways to walk
# State of a lane's walk: place in the queue, place in the chain, whether the chain was begun, and how long
# the queue and the list of what was told are.
POSITION, NODE, BEGUN, LENGTH, TOLD = 0, 1, 2, 3, 4
CURSOR = 5


@bare_kernel
def settle(members: Any, subscribers: Any, state: Any, lane: int, predicate: int, value: int) -> None:
    """Records a predicate's truth and decides the subscriptions that it decides; idempotent."""
    base, known = lane * len(members.start), lane * len(subscribers.start)
    if state.truth[known + predicate] != NOT_ASKED:
        return
    state.truth[known + predicate] = value
    state.told[known + state.cursor[lane * CURSOR + TOLD]] = predicate
    state.cursor[lane * CURSOR + TOLD] += 1
    begin = subscribers.start[predicate]
    for i in range(begin, begin + subscribers.length[predicate]):
        here = base + subscribers.pool[i]
        left = state.left[here]
        if not undecided(left):
            continue
        if value != TRUE:
            state.left[here] = DECIDED
        else:
            state.left[here] = MATCHED if left == 1 else left - 1


@bare_kernel
def wanted(subscribers: Any, state: Any, base: int, predicate: int) -> bool:
    """True if a subscription that is still undecided wants the predicate."""
    begin = subscribers.start[predicate]
    for i in range(begin, begin + subscribers.length[predicate]):
        if undecided(state.left[base + subscribers.pool[i]]):
            return True
    return False


@bare_kernel
def next_of(members: Any, subscribers: Any, state: Any, lane: int, way: int, queue: Any, begin: int) -> int:
    """Next predicate to evaluate, or -1. `queue[begin:]` has the lane's subscriptions in the order of the walk.

    naive: all of them, each up to its first predicate that does not hold. sequential: those undecided when their turn
    comes, and of these every predicate that anybody undecided wants (Algorithm 1). stopping: those undecided, each
    until it is decided.
    """
    base, known, cursor = lane * len(members.start), lane * len(subscribers.start), lane * CURSOR
    # The walk goes on where it stopped: `position` in the queue, `node` in that subscription's chain of predicates.
    # `begun` tells a subscription decided while its turn lasts from one decided before.
    position, node, begun = state.cursor[cursor + POSITION], state.cursor[cursor + NODE], state.cursor[cursor + BEGUN]
    length = state.cursor[cursor + LENGTH]
    found = -1
    while position < length:
        subscription = queue[begin + position]
        open_ = undecided(state.left[base + subscription])
        if way == NAIVE or open_ or (way == SEQUENTIAL and begun != 0):
            begun = 1
            first, count = members.start[subscription], members.length[subscription]
            while node < count:
                predicate = members.pool[first + node]
                truth = state.truth[known + predicate]
                if truth == NOT_ASKED:
                    # Sequential goes on with a decided subscription's predicates, but only with those that an undecided
                    # one wants as well.
                    if way != SEQUENTIAL or open_ or wanted(subscribers, state, base, predicate):
                        found = predicate
                        break
                # Naive looks at every subscription, decided or not, up to its first predicate that does not hold.
                elif way == NAIVE and truth != TRUE:
                    break
                node += 1
            if found >= 0:
                break
        position += 1
        node = 0
        begun = 0
    state.cursor[cursor + POSITION], state.cursor[cursor + NODE], state.cursor[cursor + BEGUN] = position, node, begun
    return found


@bare_kernel
def start_all(members: Any, subscribers: Any, state: Any, lane: int, length: int) -> None:
    """Begins an event with every subscription in question, whatever was in the lane before."""
    subscriptions, predicates = len(members.start), len(subscribers.start)
    for s in range(subscriptions):
        state.left[lane * subscriptions + s] = members.length[s]
    for t in range(predicates):
        state.truth[lane * predicates + t] = NOT_ASKED
    for i in range(CURSOR):
        state.cursor[lane * CURSOR + i] = 0
    state.cursor[lane * CURSOR + LENGTH] = length


@bare_kernel
def start_some(members: Any, state: Any, lane: int, some: Any, begin: int, end: int) -> None:
    """Begins an event with these subscriptions in question; the lane is clean."""
    base = lane * len(members.start)
    for i in range(begin, end):
        state.left[base + some[i]] = members.length[some[i]]
    for i in range(CURSOR):
        state.cursor[lane * CURSOR + i] = 0
    state.cursor[lane * CURSOR + LENGTH] = end - begin


@bare_kernel
def clean(members: Any, subscribers: Any, state: Any, lane: int, some: Any, begin: int, end: int) -> None:
    """Cleans the lane after an event in which these subscriptions were in question."""
    base, known = lane * len(members.start), lane * len(subscribers.start)
    for i in range(begin, end):
        state.left[base + some[i]] = DECIDED
    for i in range(known, known + state.cursor[lane * CURSOR + TOLD]):
        state.truth[known + state.told[i]] = NOT_ASKED


@bare_kernel
def walk(
    members: Any,
    subscribers: Any,
    state: Any,
    way: int,
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
        start_all(members, subscribers, state, 0, len(order))
        while True:
            predicate = next_of(members, subscribers, state, 0, way, order, 0)
            if predicate < 0:
                break
            asked[count] = predicate
            count += 1
            settle(members, subscribers, state, 0, predicate, truths[e, predicate])
        written = matched(state.left, 0, order, 0, len(order), out, written)
        ends[e], last[e] = count, written


@bare_kernel
def start_each(members: Any, state: Any, lanes: Any, queue: Any, begins: Any, ends: Any) -> None:
    for i in range(len(lanes)):
        start_some(members, state, lanes[i], queue, begins[i], ends[i])


@bare_kernel
def next_of_each(
    members: Any, subscribers: Any, state: Any, way: int, lanes: Any, queue: Any, begins: Any, out: Any
) -> None:
    for i in range(len(lanes)):
        out[i] = next_of(members, subscribers, state, lanes[i], way, queue, begins[i])


@bare_kernel
def settle_each(members: Any, subscribers: Any, state: Any, lanes: Any, predicates: Any, values: Any) -> None:
    for i in range(len(lanes)):
        settle(members, subscribers, state, lanes[i], predicates[i], values[i])


@bare_kernel
def dismiss_each(members: Any, state: Any, lanes: Any, subscriptions: Any) -> None:
    for i in range(len(lanes)):
        here = lanes[i] * len(members.start) + subscriptions[i]
        if state.left[here] != MATCHED:
            state.left[here] = DECIDED


@bare_kernel
def finish_each(
    members: Any, subscribers: Any, state: Any, lanes: Any, queue: Any, begins: Any, ends: Any, out: Any, counts: Any
) -> None:
    written = 0
    for i in range(len(lanes)):
        before = written
        written = matched(state.left, lanes[i] * len(members.start), queue, begins[i], ends[i], out, written)
        counts[i] = written - before
        clean(members, subscribers, state, lanes[i], queue, begins[i], ends[i])


@bare_kernel
def follow(after: Any, first: int, out: Any) -> None:
    """Writes a linked list out as an array."""
    number = first
    for i in range(len(out)):
        out[i] = number
        number = after[number]
