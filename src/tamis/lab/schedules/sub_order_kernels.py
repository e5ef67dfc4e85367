"""Chains compared in pairs, and put in line. A chain is a subscription's predicates by rising `rank`, in its row."""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel

COMPARED = 32  # chains that a chain is compared with for one shared predicate, where more share it


@bare_kernel
def difference(members: Any, rank: Any, cost: Any, selectivity: Any, one: int, other: int) -> tuple[float, int]:
    """What both chains cost with `one` first, less what they cost with `other` first; and the first link's predicate.

    The paper's sum over the k links: `reached` is P, the chance that a chain is evaluated down to the link, and `above`
    is C', the cost of what is above the link without earlier links. Chains have the same order, so links never cross.
    """
    i, end = members.start[one], members.start[one] + members.length[one]
    j, stop = members.start[other], members.start[other] + members.length[other]
    reached_i, above_i, passed_i = 1.0, 0.0, 1.0
    reached_j, above_j, passed_j = 1.0, 0.0, 1.0
    total, first = 0.0, -1
    while i < end and j < stop:
        a, b = members.pool[i], members.pool[j]
        if a == b:
            total += (1.0 - selectivity[a]) * (reached_j * above_i - reached_i * above_j)
            reached_i *= selectivity[a]
            reached_j *= selectivity[a]
            if first < 0:
                first = a
            i += 1
            j += 1
        elif rank[a] < rank[b]:
            above_i += passed_i * cost[a]
            passed_i *= selectivity[a]
            reached_i *= selectivity[a]
            i += 1
        else:
            above_j += passed_j * cost[b]
            passed_j *= selectivity[b]
            reached_j *= selectivity[b]
            j += 1
    return total, first


@bare_kernel
def descend(members: Any, cost: Any, selectivity: Any, reached: Any, above: Any) -> None:
    """For every place in every chain the chance that evaluation comes so far, and what it has cost by then."""
    for s in range(len(members.start)):
        chance, spent = 1.0, 0.0
        for i in range(members.start[s], members.start[s] + members.length[s]):
            reached[i], above[i] = chance, spent
            spent += chance * cost[members.pool[i]]
            chance *= selectivity[members.pool[i]]


@bare_kernel
def comparisons(lengths: Any) -> int:
    """At most so many pairs are compared."""
    total = 0
    for length in lengths:
        total += length * (length - 1) // 2 if length <= COMPARED else (length // 2) * (COMPARED + 1)
    return total


@bare_kernel
def compare(
    members: Any,
    offsets: Any,
    lists: Any,
    rank: Any,
    cost: Any,
    selectivity: Any,
    before: Any,
    behind: Any,
    weight: Any,
) -> int:
    """Pairs of chains in which it matters which is first, that one first, with the cost difference (below 0).

    `lists[offsets[t] : offsets[t + 1]]` has the chains of predicate t, those first that gain by being first. In a short
    list all are compared with all. In a long one those at the front with those at the back, who differ the most. A
    pair is compared for the first predicate it shares.
    """
    count = 0
    for t in range(len(offsets) - 1):
        begin, length = offsets[t], offsets[t + 1] - offsets[t]
        for i in range(length if length <= COMPARED else length // 2):
            low, high = i + 1, length
            if length > COMPARED:
                low = max(low, length - 1 - i - COMPARED // 2)
                high = min(high, length - i + COMPARED // 2)
            for j in range(low, high):
                one, other = lists[begin + i], lists[begin + j]
                gain, first = difference(members, rank, cost, selectivity, one, other)
                if first != t or gain == 0.0:
                    continue
                before[count], behind[count] = (one, other) if gain < 0.0 else (other, one)
                weight[count] = -abs(gain)
                count += 1
    return count


@bare_kernel
def root(parent: Any, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@bare_kernel
def join(edges: Any, before: Any, behind: Any, after: Any, parent: Any, headed: Any) -> None:
    """Kruskal's way: edges in the order given, each taken if it leaves a chain one neighbour a side and no cycle."""
    for edge in edges:
        one, other = before[edge], behind[edge]
        if after[one] >= 0 or headed[other]:
            continue
        a, b = root(parent, one), root(parent, other)
        if a != b:
            parent[a] = b
            after[one] = other
            headed[other] = True


@bare_kernel
def line_up(heads: Any, after: Any, out: Any) -> int:
    """The paths from these heads on, one behind the other."""
    count = 0
    for head in heads:
        number = head
        while number >= 0:
            out[count] = number
            count += 1
            number = after[number]
    return count


@bare_kernel
def best_place(
    members: Any, subscribers: Any, rank: Any, cost: Any, selectivity: Any, after: Any, before: Any, last: int, new: int
) -> int:
    """The chain behind which a new one costs the least more beside its neighbours (-1: the front).

    Looked at are the end, and the places before and behind the chains that share a predicate with it, in long lists
    some of them.
    """
    best, least = last, 0.0
    if last >= 0:
        least = difference(members, rank, cost, selectivity, last, new)[0]
    for i in range(members.start[new], members.start[new] + members.length[new]):
        t = members.pool[i]
        begin, length = subscribers.start[t], subscribers.length[t]
        step = max(1, length // (2 * COMPARED))
        for j in range(begin, begin + length, step):
            chain = subscribers.pool[j]
            if chain == new:
                continue
            for side in range(2):
                left = before[chain] if side == 0 else chain
                right = chain if side == 0 else after[chain]
                more = 0.0
                if left >= 0:
                    more += difference(members, rank, cost, selectivity, left, new)[0]
                if right >= 0:
                    more += difference(members, rank, cost, selectivity, new, right)[0]
                if left >= 0 and right >= 0:
                    more -= difference(members, rank, cost, selectivity, left, right)[0]
                if more < least:
                    best, least = left, more
    return best
