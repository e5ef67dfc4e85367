"""Kernels of the adaptive schedule: price subscriptions, and pick the predicate that promises most per unit of cost.

The *rate* of a predicate is (1 - selectivity) / cost; times `live`, the undecided subscriptions that want it, it is how
many an evaluation decides, a unit of cost. The *price* of a subscription is what it costs to decide it otherwise: one
over the best rate × live among its other open predicates. A predicate *promises* its rate times the prices of those it
may decide: to take those first that nothing else decides well leaves fewer evaluations for later. A predicate that is
the only open one of a subscription has to be evaluated whatever comes; it promises more than all.

A promise shrinks as others decide the predicate's subscriptions, and is not updated: the predicate stays in the bucket
of its last promise, and the topmost bucket's predicates are computed anew before one is taken (Minoux 1978).
Prices are *revised* for all that is undecided as often as `ALLOWANCE` pays for, and in between only where a predicate
held.

Lanes are as in schedules/kernels.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import bare_kernel, inlined_kernel
from tamis.operators.schedules.problem import DECIDED, MATCHED, NOT_ASKED, TRUE, UNKNOWN, undecided

# Predicates in buckets by what they promise; a lane has buckets of its own in flat arrays.
#
# Promises are put into one bucket if they agree in sign, exponent and the first four bits of their fraction as 32-bit
# floats: they differ by at most a sixteenth. A bucket is a doubly linked list, so a predicate moves in a few steps,
# where a heap would take as many as its depth. `first[bucket]` heads the list, `ahead` and `behind` are a predicate's
# neighbours in it (-1: none), and `bucket` says which one it is in (-1: none). Kernels over a state with these four
# arrays; `known` is where the lane's predicates begin, `shelf` where its buckets do.

SHIFT = 19  # leaves 4 bits of a fraction's 23
LOWEST = (127 - 40) << 4  # bucket 0: 2^-40 and less
BUCKETS = (80 << 4) + 1  # the last: 2^40 and more, up to infinity


@inlined_kernel
def bucket_for(promise: Any) -> int:
    """Bucket of a promise above 0."""
    place = (np.int64(np.float32(promise).view(np.int32)) >> SHIFT) - LOWEST
    if place < 0:
        return 0
    return BUCKETS - 1 if place >= BUCKETS else int(place)


@inlined_kernel
def put(state: Any, known: int, shelf: int, predicate: int, bucket: int) -> None:
    """Puts a predicate that is in no bucket at the head of this one."""
    head = state.first[shelf + bucket]
    state.first[shelf + bucket] = predicate
    state.behind[known + predicate] = head
    state.ahead[known + predicate] = -1
    state.bucket[known + predicate] = bucket
    if head >= 0:
        state.ahead[known + head] = predicate


@inlined_kernel
def take(state: Any, known: int, shelf: int, predicate: int) -> None:
    """Removes a predicate from its bucket."""
    ahead, behind = state.ahead[known + predicate], state.behind[known + predicate]
    if ahead >= 0:
        state.behind[known + ahead] = behind
    else:
        state.first[shelf + state.bucket[known + predicate]] = behind
    if behind >= 0:
        state.ahead[known + behind] = ahead
    state.bucket[known + predicate] = -1


ALLOWANCE = 16  # places in subscriptions, and predicates, that a step may pay for to be looked at anew
SAMPLED, ENOUGH = 128, 16  # so many of a long list are looked at, and all if fewer than so many of them are undecided
RATES_AGAIN = 4  # a revision after 4, 16, 64, … steps where what is known of the event changes the rates

# State of a subscription beside `left` is in one cell of so many numbers, so that it takes one memory access:
# its price, its price for the best predicate, and that predicate. A subscription that is decided has prices of 0.
CELL, BEST = 4, 2

# State of a lane: lengths of the lists of wanted predicates, of what is told and of undecided subscriptions; how
# many of those are undecided still; the topmost bucket; steps since the last revision, in all, and at which rates are
# looked at again.
WANTED, TOLD, LISTED, OPEN, TOP, SINCE, STEPS, RATES_AT = 0, 1, 2, 3, 4, 5, 6, 7
NUMBERS = 8


@inlined_kernel
def price_for(state: Any, here: int, predicate: int) -> Any:
    """Worth of deciding a subscription by this predicate."""
    return state.price[CELL * here + (state.best[CELL * here + BEST] == predicate)]


@inlined_kernel
def promised(subscribers: Any, state: Any, base: int, predicate: int) -> Any:
    """Sum of prices of the undecided subscriptions that want this predicate; sampled where there are many."""
    begin, length = subscribers.start[predicate], subscribers.length[predicate]
    step = 1 if length <= SAMPLED else length // SAMPLED
    while True:
        total, seen = np.float32(0.0), 0
        for i in range(begin, begin + length, step):
            price = price_for(state, base + subscribers.pool[i], predicate)
            total += price
            seen += price > 0.0
        if step == 1 or seen >= ENOUGH:
            return total * np.float32(step)
        step = 1


@inlined_kernel
def price(members: Any, state: Any, base: int, known: int, subscription: int) -> None:
    """Prices a subscription by its open predicates."""
    most, second, best, count = np.float32(0.0), np.float32(0.0), -1, 0
    first = members.start[subscription]
    for i in range(first, first + members.length[subscription]):
        t = members.pool[i]
        if state.truth[known + t] != NOT_ASKED:
            continue
        count += 1
        decides = state.rate[known + t] * np.float32(state.live[known + t])
        if decides > most:
            most, second, best = decides, most, t
        elif decides > second:
            second = decides
    cell = CELL * (base + subscription)
    state.best[cell + BEST] = best
    state.price[cell] = np.float32(1.0) / most
    state.price[cell + 1] = np.float32(1.0) / second if count > 1 else np.float32(np.inf)


@inlined_kernel
def unprice(state: Any, here: int) -> None:
    """Sets the prices of a decided subscription to 0."""
    state.price[CELL * here] = np.float32(0.0)
    state.price[CELL * here + 1] = np.float32(0.0)


@inlined_kernel
def compact(state: Any, base: int, numbers: int) -> None:
    """Drops decided subscriptions from the list of undecided ones."""
    kept = 0
    for i in range(state.numbers[numbers + LISTED]):
        subscription = state.undecided[base + i]
        left = state.left[base + subscription]
        if undecided(left):
            state.undecided[base + kept] = subscription
            kept += 1
    state.numbers[numbers + LISTED] = kept


@bare_kernel
def revise(members: Any, state: Any, kinds: Any, base: int, known: int, lane: int) -> None:
    """Prices all undecided subscriptions, and puts the predicates into the buckets of their new promises."""
    numbers, shelf = lane * NUMBERS, lane * BUCKETS
    # Count anew, for each predicate wanted so far, the undecided subscriptions that want it; empty all buckets.
    for i in range(state.numbers[numbers + WANTED]):
        t = state.wanted[known + i]
        state.live[known + t] = 0
        state.promise[known + t] = 0.0
    for i in range(state.numbers[numbers + LISTED]):
        subscription = state.undecided[base + i]
        first = members.start[subscription]
        for j in range(first, first + members.length[subscription]):
            state.live[known + members.pool[j]] += 1
    for i in range(BUCKETS):
        state.first[shelf + i] = -1
    # Predicates that were evaluated, or that nobody undecided wants any more, leave the list for good.
    kept = 0
    for i in range(state.numbers[numbers + WANTED]):
        t = state.wanted[known + i]
        if state.truth[known + t] == NOT_ASKED and state.live[known + t] > 0:
            state.wanted[known + kept] = t
            kept += 1
    state.numbers[numbers + WANTED] = kept
    # Rates first, for prices are made of them: with kinds of events they depend on the truths told so far.
    if kinds.weights.shape[0] > 1:
        expect(state, kinds, known, lane)
    # Each undecided subscription adds its price to the promises of its predicates; evaluated ones get it in vain, which
    # is cheaper than to look.
    for i in range(state.numbers[numbers + LISTED]):
        subscription = state.undecided[base + i]
        price(members, state, base, known, subscription)
        first = members.start[subscription]
        for j in range(first, first + members.length[subscription]):
            t = members.pool[j]
            state.promise[known + t] += price_for(state, base + subscription, t)
    # Promises are complete only now: multiply by the rate and file them by bucket.
    top = 0
    for i in range(kept):
        t = state.wanted[known + i]
        state.promise[known + t] *= state.rate[known + t]
        bucket = bucket_for(state.promise[known + t])
        put(state, known, shelf, t, bucket)
        top = max(top, bucket)
    state.numbers[numbers + TOP] = top
    state.numbers[numbers + SINCE] = 0


@bare_kernel
def expect(state: Any, kinds: Any, known: int, lane: int) -> None:
    """Updates the rates of the wanted predicates, given the truths known of the event (see kinds.py)."""
    count = kinds.weights.shape[0]
    top = state.likelihood[lane * count]
    for k in range(1, count):
        top = max(top, state.likelihood[lane * count + k])
    total = 0.0
    for k in range(count):
        state.share[lane * count + k] = np.exp(state.likelihood[lane * count + k] - top)
        total += state.share[lane * count + k]
    for i in range(state.numbers[lane * NUMBERS + WANTED]):
        t = state.wanted[known + i]
        chance = 0.0
        for k in range(count):
            chance += state.share[lane * count + k] * kinds.fails[t, k]
        state.rate[known + t] = chance / total / kinds.cost[t]


@inlined_kernel
def due(state: Any, kinds: Any, members: Any, lane: int) -> bool:
    """True if it is time for a revision, by what it would cost."""
    numbers = lane * NUMBERS
    since, still_open = state.numbers[numbers + SINCE], state.numbers[numbers + OPEN]
    if since == 0 or still_open == 0:
        return False
    if since * ALLOWANCE >= still_open * kinds.usual_length + state.numbers[numbers + WANTED]:
        return True
    if kinds.weights.shape[0] > 1 and state.numbers[numbers + STEPS] >= state.numbers[numbers + RATES_AT]:
        state.numbers[numbers + RATES_AT] *= RATES_AGAIN
        return True
    return False


@inlined_kernel
def next_of(members: Any, subscribers: Any, state: Any, kinds: Any, lane: int) -> int:
    """Next predicate to evaluate, the one that promises most, or -1 if everything is decided."""
    base, known, numbers = lane * len(members.start), lane * len(subscribers.start), lane * NUMBERS
    if state.numbers[numbers + OPEN] == 0:
        return -1
    if due(state, kinds, members, lane):
        compact(state, base, numbers)
        revise(members, state, kinds, base, known, lane)
    shelf, top = lane * BUCKETS, state.numbers[numbers + TOP]
    found = -1
    while found < 0 and top >= 0:
        predicate = state.first[shelf + top]
        if predicate < 0:
            top -= 1
            continue
        promise = np.float32(0.0)
        if state.truth[known + predicate] == NOT_ASKED:
            promise = promised(subscribers, state, base, predicate) * state.rate[known + predicate]
        state.promise[known + predicate] = promise
        bucket = bucket_for(promise) if promise > 0.0 else -1
        # Above the top it can be by rounding, or by what a sample says; it is no worse for that.
        if bucket >= top:
            found = predicate
            break
        take(state, known, shelf, predicate)
        if bucket >= 0:
            put(state, known, shelf, predicate, bucket)
    state.numbers[numbers + TOP] = max(top, 0)
    return found


@inlined_kernel
def dearer(members: Any, state: Any, base: int, known: int, lane: int, subscription: int) -> None:
    """Raises the promises of a subscription's open predicates after one held: it has become harder to decide."""
    here = base + subscription
    before, second, best = state.price[CELL * here], state.price[CELL * here + 1], state.best[CELL * here + BEST]
    price(members, state, base, known, subscription)
    first = members.start[subscription]
    for i in range(first, first + members.length[subscription]):
        t = members.pool[i]
        if state.truth[known + t] == NOT_ASKED:
            more = price_for(state, here, t) - (second if best == t else before)
            if more > 0.0:
                state.promise[known + t] += more * state.rate[known + t]
                bucket = bucket_for(state.promise[known + t])
                if bucket > state.bucket[known + t]:
                    take(state, known, lane * BUCKETS, t)
                    put(state, known, lane * BUCKETS, t, bucket)
                    state.numbers[lane * NUMBERS + TOP] = max(state.numbers[lane * NUMBERS + TOP], bucket)


@inlined_kernel
def settle(members: Any, subscribers: Any, state: Any, kinds: Any, lane: int, predicate: int, value: int) -> None:
    """Records a predicate's truth and decides the subscriptions that it decides; idempotent."""
    base, known, numbers = lane * len(members.start), lane * len(subscribers.start), lane * NUMBERS
    if state.truth[known + predicate] != NOT_ASKED:
        return
    state.truth[known + predicate] = value
    state.told[known + state.numbers[numbers + TOLD]] = predicate
    state.numbers[numbers + TOLD] += 1
    state.numbers[numbers + SINCE] += 1
    state.numbers[numbers + STEPS] += 1
    # The event's likelihood of each kind, given one more truth; an unknown says nothing of kinds.
    if value != UNKNOWN:
        for k in range(kinds.weights.shape[0]):
            state.likelihood[lane * kinds.weights.shape[0] + k] += kinds.logs[predicate, k, value]
    # A false or unknown predicate decides against every subscription that wants it. A true one leaves a predicate less
    # to each; a match where it was the last.
    decided = 0
    begin = subscribers.start[predicate]
    for i in range(begin, begin + subscribers.length[predicate]):
        subscription = subscribers.pool[i]
        left = state.left[base + subscription]
        if not undecided(left):
            continue
        if value != TRUE:
            state.left[base + subscription] = DECIDED
            unprice(state, base + subscription)
            decided += 1
        elif left == 1:
            state.left[base + subscription] = MATCHED
            unprice(state, base + subscription)
            decided += 1
        else:
            state.left[base + subscription] = left - 1
            # One predicate left has to be evaluated whatever comes, and the best one's going changes the price: the
            # rest promise more now. Other changes wait for the next revision.
            if left == 2 or state.best[CELL * (base + subscription) + BEST] == predicate:
                dearer(members, state, base, known, lane, subscription)
    state.numbers[numbers + OPEN] -= decided
