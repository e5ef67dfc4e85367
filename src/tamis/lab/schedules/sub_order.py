"""Sub-Order (linked chains), Sequential and naive schedules of Liu et al. 2007: orders of evaluating expensive
predicates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tamis.arrays import Floats, Int32s, Int64s
from tamis.compiled import bare_kernel
from tamis.lab.schedules.counting import Order, Walking
from tamis.operators.schedules.graph import Lists, Rows
from tamis.operators.schedules.kernels import NAIVE, SEQUENTIAL, STOPPING
from tamis.operators.schedules.knowledge import HALF_LIFE, LEAST, MOST, Knowledge
from tamis.operators.schedules.problem import Problem
from tamis.operators.schedules.running import Evidence

# Kernels of Sub-Order: chains compared in pairs, and put in line. A chain is a subscription's predicates by rising
# `rank`.

COMPARED = 32  # chains that a chain is compared with for one shared predicate, where more share it


@bare_kernel
def difference(members: Any, rank: Any, cost: Any, selectivity: Any, one: int, other: int) -> tuple[float, int]:
    """Cost of both chains with `one` first, less that with `other` first; and the first link's predicate.

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
        # A link, that is a shared predicate: evaluated by the first chain that reaches it, so the second
        # saves it; then both go on with its truth known.
        if a == b:
            total += (1.0 - selectivity[a]) * (reached_j * above_i - reached_i * above_j)
            reached_i *= selectivity[a]
            reached_j *= selectivity[a]
            if first < 0:
                first = a
            i += 1
            j += 1
        # Otherwise the chain with the lower rank advances, which finds all links in one merge.
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
    """Computes, for every place in every chain, the chance that evaluation comes so far, and its cost by then."""
    for s in range(len(members.start)):
        chance, spent = 1.0, 0.0
        for i in range(members.start[s], members.start[s] + members.length[s]):
            reached[i], above[i] = chance, spent
            spent += chance * cost[members.pool[i]]
            chance *= selectivity[members.pool[i]]


@bare_kernel
def comparisons(lengths: Any) -> int:
    """Upper bound of the number of pairs compared."""
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
    """Compares pairs of chains that share a predicate; each pair comes out in its cheaper order, with the cost
    difference.

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
    """Kruskal's greedy: takes edges in the given order if every chain keeps one neighbour a side and no cycle
    arises."""
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
    """Concatenates the paths from these heads on."""
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
    """Finds the chain behind which a new one costs the least beside its neighbours (-1: the front).

    Looked at are the end, and the places before and behind the chains that share a predicate with it, in long lists
    some of them.
    """
    best, least = last, 0.0
    if last >= 0:
        least = difference(members, rank, cost, selectivity, last, new)[0]
    # Only places beside chains that share a predicate can save anything; long lists are sampled.
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
                # Cost of squeezing the new chain between two neighbours, less that of the pair it
                # separates.
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


MOVED = 1.5
"""The factor by which cost / (1 - selectivity) of a predicate must have changed for its belief to have moved."""
SHARE = 0.05
"""Of evaluations, or of what they cost, those of predicates that moved, for which it is worth to plan anew."""
PAID = 20.0
"""Times the cost of planning that evaluations must have cost since: planning takes a twentieth of the time at most."""
PLANNING, PLANNING_EACH = 1.0, 0.003
"""Milliseconds that it takes to plan, and more for each predicate of each subscription."""
LEAST_COST = 0.01
"""Milliseconds that an evaluation takes at least, whatever the operator costs."""


class SubOrder(Walking):
    """Schedule of linked chains (Liu et al. 2007, §4.2).

    A chain has the predicates that decide most for their cost first: by rising cost / (1 - selectivity), which is
    rising selectivity where costs are equal; equals by number. Chains are compared in pairs by the cost difference
    for k links, and put in line by the greedy of §4.2.5: the pair that saves most first, as long as every chain keeps
    one neighbour a side.

    Departs: only chains that share a predicate are compared, the others differ by nothing; where more than 32 share
    one, each is compared with 32 (see `compare`). The paths that the greedy leaves are in any order in the paper; here
    they are ordered by what their first chain gains, over all chains, by being early. And the order is made anew where
    what was learned has moved far enough (`reconsider`); the paper's keeps to what was known when it was made.
    """

    name = "sub-order"
    way = STOPPING

    def __init__(self, problem: Problem, half_life: float = HALF_LIFE) -> None:
        super().__init__(problem)
        self.knowledge = Knowledge(problem.selectivity, problem.cost, half_life)
        self._paid = 0.0
        self.replan()

    def learn(self, evidence: Evidence) -> None:
        """Takes in statistics; the order stays as it is until `reconsider` or `replan`."""
        self.knowledge.learn(evidence)
        made = evidence.evaluated + evidence.unknown
        self._paid += float(made @ self.knowledge.cost()[evidence.predicates].clip(LEAST_COST))

    def reconsider(self) -> bool:
        """Plans anew if predicates that make up a twentieth of the evaluations, or of their cost, are worth another
        place than planned, and as soon as evaluations have cost 20 times what planning does.

        Costs are read as milliseconds here, as learned ones are; in another unit it is planned sooner, or later.
        """
        members = int(self.graph.members.rows.length.sum())
        if self._paid < PAID * (PLANNING + PLANNING_EACH * members) or not self._moved():
            return False
        self.replan()
        return True

    def _moved(self) -> bool:
        """True if enough of what is evaluated has moved; seldom evaluated predicates may have by chance."""
        cost = self.knowledge.cost()
        now, planned = worths(self.knowledge.selectivity(), cost), worths(self._selectivity, self._cost)
        moved = np.abs(np.log(now) - np.log(planned)) > np.log(MOVED)
        often = self.knowledge.evaluated
        return any(weight[moved].sum() > SHARE * weight.sum() for weight in (often, often * cost))

    def replan(self) -> None:
        """Builds chains and order anew, by the current estimates of selectivities and costs."""
        self._paid = 0.0
        self._selectivity, self._cost = self.knowledge.selectivity(), self.knowledge.cost()
        self._rank = ranks(self._selectivity, self._cost)
        offsets, members = self.graph.as_lists()
        owners = np.repeat(np.arange(self.graph.size), np.diff(offsets))
        self.graph.members = Lists(offsets, members[np.lexsort((self._rank[members], owners))])
        self.order = Order(self._in_line(offsets), self.graph.size)

    def add_predicate(self, cost: float, selectivity: float) -> int:
        number = super().add_predicate(cost, selectivity)
        self.knowledge.add_predicate(cost, selectivity)
        self._rank = ranks(self._selectivity, self._cost)
        return number

    def insert(self, members: Iterable[int]) -> int:
        """Inserts the new chain where it costs the least beside the chains that share a predicate with it."""
        chain = np.fromiter(members, np.int32)
        number = super().insert(chain[np.argsort(self._rank[chain], kind="stable")] if self._fits(chain) else chain)
        self.order.remove(number)
        graph = (self.graph.members.rows, self.graph.subscribers.rows)
        links = (self.order.after, self.order.before, self.order.last)
        place = best_place(*graph, self._rank, self._cost, self._selectivity, *links, number)
        self.order.insert(number, after=place)
        return number

    def _fits(self, chain: Int32s) -> bool:
        return bool(np.all((chain >= 0) & (chain < self.graph.predicates)))

    def _in_line(self, offsets: Int64s) -> Int32s:
        """Order of the chains, from all comparisons."""
        chains = self.graph.members.rows
        advantage, lists = self._advantages(chains, offsets)
        most = comparisons(np.diff(lists[0]))
        before, behind = np.empty(most, np.int32), np.empty(most, np.int32)
        weight = np.empty(most, np.float32)
        count = compare(chains, *lists, self._rank, self._cost, self._selectivity, before, behind, weight)
        edges = np.argsort(weight[:count], kind="stable")
        after = np.full(self.graph.size, -1, np.int32)
        headed = np.zeros(self.graph.size, np.bool_)
        join(edges, before, behind, after, np.arange(self.graph.size, dtype=np.int32), headed)
        numbers = self.graph.numbers()
        heads = numbers[~headed[numbers]]
        order = np.empty(len(numbers), np.int32)
        line_up(heads[np.argsort(advantage[heads], kind="stable")], after, order)
        return order

    def _advantages(self, chains: Rows, offsets: Int64s) -> tuple[Floats, tuple[Int64s, Int32s]]:
        """Advantage of each chain from being before all others instead of behind them, a link counted by itself; and
        each predicate's chains, those first that gain by being first."""
        predicates = self.graph.predicates
        reached, above = np.empty(len(chains.pool)), np.empty(len(chains.pool))
        descend(chains, self._cost, self._selectivity, reached, above)
        members = chains.pool
        lengths = np.bincount(members, minlength=predicates)
        # Of a long list so many count as are compared; else the most popular predicates alone would decide.
        share = np.minimum(1.0, COMPARED / lengths.clip(1))
        all_reached = np.bincount(members, reached, predicates) * share
        all_above = np.bincount(members, above, predicates) * share
        loss = (1 - self._selectivity[members]) * (above * all_reached[members] - reached * all_above[members])
        owners = np.repeat(np.arange(self.graph.size), np.diff(offsets))
        advantage = np.bincount(owners, loss, self.graph.size)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        # C / P: a chain gains by being first if it comes to the link with high probability and at low cost.
        order = np.lexsort((above / reached.clip(1e-300), members))
        return advantage.astype(np.float64), (starts, owners[order].astype(np.int32))


def worths(selectivity: Floats, cost: Floats) -> Floats:
    """Worth of each predicate, cost / (1 - selectivity), finite even where it never fails: the cost until it fails
    once."""
    return cost / (1 - selectivity.clip(LEAST, MOST))


def ranks(selectivity: Floats, cost: Floats) -> Int32s:
    """Rank of each predicate by rising cost / (1 - selectivity), equals by number; those that always hold last."""
    worth = np.divide(cost, 1 - selectivity, out=np.full(len(cost), np.inf), where=selectivity < 1)
    place = np.empty(len(cost), np.int32)
    place[np.lexsort((np.arange(len(cost)), cost, worth))] = np.arange(len(cost), dtype=np.int32)
    return place


# Sequential: the paper's first algorithm, and the reading of it that was simulated.


class Sequential(Walking):
    """Schedule of Algorithm 1 (Liu et al. 2007, §4.1), to the letter: *all* wanted predicates of a subscription are
    evaluated.

    An undecided subscription is taken up, and all its predicates that any undecided subscription wants are evaluated,
    even once it is decided itself. That is what makes it cost at most d times the optimum (Theorem 2), d being the most
    predicates of a subscription.
    """

    name = "sequential"
    way = SEQUENTIAL


class Stopping(Walking):
    """Schedule of Algorithm 1 but for one thing: a subscription is left as soon as it is decided.

    It costs less where predicates are shared evenly, but Theorem 2 does not hold for it: subscriptions {a1, b},
    {a2, b}, … are decided by b alone, and this may evaluate every a.
    """

    name = "sequential-stopping"
    way = STOPPING


# Naive: the baseline, subscriptions by themselves, one after the other.


class Naive(Walking):
    """Schedule that evaluates every subscription up to its first predicate that fails; truths are remembered,
    eliminations not passed on (Liu et al. 2007, §5.2)."""

    name = "naive"
    way = NAIVE
