"""Lower bounds and exact optima of predicate evaluations for a schedule: what no order of evaluation can do without."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tamis.arrays import Floats, Int8s
from tamis.compiled import bare_kernel, kernel
from tamis.errors import TamisError
from tamis.operators.schedules.graph import Graph
from tamis.operators.schedules.problem import NOT_ASKED, TRUE, Problem

# Lower bounds on one event whose truths are known.


@bare_kernel
def holds(members: Any, truth: Any, subscription: int) -> bool:
    first = members.start[subscription]
    fails = False
    for i in range(first, first + members.length[subscription]):
        fails |= truth[members.pool[i]] != TRUE
    return not fails


@kernel
def marked(members: Any, subscribers: Any, truth: Any, cost: Any) -> float:
    """Theorem 2's bound: the least cost of the subscriptions that Algorithm 1 takes up.

    Those taken up have no open predicate in common, so whoever decides them pays for each by itself: for all its open
    predicates if it matches, else for the cheapest that fails.
    """
    known = np.full(len(subscribers.start), NOT_ASKED, np.int8)
    decided = np.zeros(len(members.start), np.bool_)
    total = 0.0
    for s in range(len(members.start)):
        if decided[s] or members.length[s] == 0:
            continue
        least, whole, matches = np.inf, 0.0, True
        first = members.start[s]
        for i in range(first, first + members.length[s]):
            t = members.pool[i]
            if known[t] != NOT_ASKED:
                continue
            known[t] = truth[t]
            whole += cost[t]
            if truth[t] != TRUE:
                matches = False
                least = min(least, cost[t])
                begin = subscribers.start[t]
                for j in range(begin, begin + subscribers.length[t]):
                    decided[subscribers.pool[j]] = True
        total += whole if matches else least
    return total


@kernel
def failing(members: Any, truth: Any, offsets: Any, lists: Any, needed: Any) -> int:
    """Collects the failing predicates of each subscription that does not match, as rows; `needed`: predicates of
    matches.

    Returns how many rows there are.
    """
    rows, end = 0, 0
    for s in range(len(members.start)):
        first, length = members.start[s], members.length[s]
        if length == 0:
            continue
        if holds(members, truth, s):
            for i in range(first, first + length):
                needed[members.pool[i]] = True
            continue
        for i in range(first, first + length):
            if truth[members.pool[i]] != TRUE:
                lists[end] = members.pool[i]
                end += 1
        rows += 1
        offsets[rows] = end
    return rows


@kernel
def essentials(offsets: Any, lists: Any, rows: int, chosen: Any) -> int:
    """Chooses every predicate that is alone in a row, and drops the rows that it hits; returns how many are left."""
    for r in range(rows):
        if offsets[r + 1] - offsets[r] == 1:
            chosen[lists[offsets[r]]] = True
    kept, end, begin = 0, 0, 0
    for r in range(rows):
        stop = offsets[r + 1]
        hit = False
        for i in range(begin, stop):
            hit |= chosen[lists[i]]
        if not hit:
            for i in range(begin, stop):
                lists[end] = lists[i]
                end += 1
            kept += 1
            offsets[kept] = end
        begin = stop
    return kept


@bare_kernel
def slope_of(offsets: Any, lists: Any, reduced: Any, row: int) -> float:
    slope = 1.0
    for i in range(offsets[row], offsets[row + 1]):
        if reduced[lists[i]] < 0.0:
            slope -= 1.0
    return slope


@kernel
def relaxed(offsets: Any, lists: Any, rows: int, weight: Any, rounds: int, patience: int) -> float:
    """Lagrangian lower bound on the least weight of predicates that hit every row.

    For any prices y >= 0 of the rows the bound is Σ y + Σ min(0, weight - Σ of the prices of the rows it hits). Prices
    follow the subgradient (Held and Karp 1971), in steps that are halved when `patience` of them have gained nothing.
    """
    predicates = len(weight)
    degree = np.zeros(predicates)
    for i in range(offsets[rows]):
        degree[lists[i]] += 1
    # Initial prices that are feasible: no predicate's rows cost more than its weight.
    price = np.empty(rows)
    for r in range(rows):
        least = np.inf
        for i in range(offsets[r], offsets[r + 1]):
            least = min(least, weight[lists[i]] / degree[lists[i]])
        price[r] = least
    best, at_best = 0.0, price.copy()
    reduced = np.empty(predicates)
    step, idle = 1.0, 0
    for _ in range(rounds):
        # The bound at the current prices, from the reduced weights; any prices give a valid one, so the best
        # is kept.
        bound = 0.0
        reduced[:] = weight
        for r in range(rows):
            bound += price[r]
            for i in range(offsets[r], offsets[r + 1]):
                reduced[lists[i]] -= price[r]
        for t in range(predicates):
            bound += min(0.0, reduced[t])
        idle += 1
        if bound > best:
            if bound > best * (1 + 1e-4):
                idle = 0
            best = bound
            at_best[:] = price
        # No progress: half the step, again from the best prices.
        if idle >= patience:
            step *= 0.5
            idle = 0
            price[:] = at_best
            continue
        # A subgradient step towards rows that are hit too seldom (price up) or too often (price down).
        square = 0.0
        for r in range(rows):
            square += slope_of(offsets, lists, reduced, r) ** 2
        if square == 0.0:
            break
        for r in range(rows):
            price[r] = max(0.0, price[r] + step * 0.1 * best / square * slope_of(offsets, lists, reduced, r))
    return best


@kernel
def best_strategy(predicates: int, wants: Any, cost: Any, selectivity: Any) -> float:
    """Expected cost of the best schedule; `wants[s]` has a bit for each predicate of subscription s.

    A state is a number to base 3: of each predicate 0 open, 1 true, 2 false. What is known only grows, and with it the
    number, so all states are solved from the last to the first.
    """
    states = 3**predicates
    expected = np.zeros(states)
    powers = 3 ** np.arange(predicates)
    for state in range(states - 1, -1, -1):
        true, false, rest = 0, 0, state
        for t in range(predicates):
            digit = rest % 3
            rest //= 3
            if digit == 1:
                true |= 1 << t
            elif digit == 2:
                false |= 1 << t
        # Only predicates that an undecided subscription still wants are worth evaluating; without any the
        # state is final.
        useful = 0
        for want in wants:
            if want & false == 0:
                useful |= want & ~true
        best = np.inf if useful else 0.0
        for t in range(predicates):
            if useful >> t & 1:
                after = selectivity[t] * expected[state + powers[t]]
                after += (1.0 - selectivity[t]) * expected[state + 2 * powers[t]]
                best = min(best, cost[t] + after)
        expected[state] = best
    return float(expected[0])


ROUNDS, PATIENCE = 400, 15  # of steps that improve the bound


def theorem_2(problem: Problem, truths: Int8s) -> Floats:
    """Theorem 2's bound of each event (a row of truths), from its proof (Liu et al. 2007).

    Even who knows the truths beforehand evaluates as much to prove them, and Sequential at most d times as much where
    costs are equal, d being the most predicates of a subscription.
    """
    graph = Graph(problem)
    rows = (graph.members.rows, graph.subscribers.rows)
    return np.array([marked(*rows, truth, problem.cost) for truth in truths])


def in_hindsight(problem: Problem, truths: Int8s) -> Floats:
    """Bound of each event: the least cost of proving all matches and non-matches, the truths being known.

    A match needs all its predicates. The rest is hit by predicates that fail: a covering problem, bounded from below.
    """
    return np.array([_covering(problem, truth, problem.cost, matches=True) for truth in truths])


def foreseeing_nothing(problem: Problem, truths: Int8s) -> Floats:
    """Bound of each event whose *mean* over events no schedule's mean cost falls below.

    Where predicates hold independently with their selectivities, a schedule that does not know a predicate's truth
    before evaluating it gets a failure for every 1 / (1 - selectivity) evaluations, whatever its order. So each failure
    of the covering counts its cost so many times over.
    """
    with np.errstate(divide="ignore"):
        weight = np.minimum(problem.cost / (1 - problem.selectivity), 1e30)
    return np.array([_covering(problem, truth, weight, matches=False) for truth in truths])


def _covering(problem: Problem, truth: Int8s, weight: Floats, matches: bool) -> float:
    rows = Graph(problem).members.rows
    offsets = np.zeros(problem.subscriptions + 1, np.int64)
    lists = np.empty(len(problem.members), np.int32)
    needed = np.zeros(problem.predicates, np.bool_)
    count = failing(rows, truth, offsets, lists, needed)
    chosen = np.zeros(problem.predicates, np.bool_)
    left = essentials(offsets, lists, count, chosen)
    bound = float(weight[chosen].sum()) + relaxed(offsets, lists, left, weight, ROUNDS, PATIENCE)
    return bound + (float(problem.cost[needed].sum()) if matches else 0.0)


# Exact optima of problems small enough for exhaustive search.

MOST_PREDICATES = 14  # 3^14 states are 4.8 million


def certificate(problem: Problem, truth: Int8s) -> float:
    """Least cost of evaluations that prove, on one event, which subscriptions match and which do not.

    This is the optimum that Theorem 2 of Liu et al. 2007 speaks of: its proof counts what *any* algorithm must evaluate
    on the event at hand, be it clairvoyant. Every predicate of a match, and of each other subscription one that fails.
    """
    rows = [problem.subscription(s) for s in range(problem.subscriptions)]
    matching = {int(t) for row in rows if (truth[row] == TRUE).all() for t in row}
    failing = frozenset(
        frozenset(int(t) for t in row if truth[t] != TRUE) for row in rows if not (truth[row] == TRUE).all()
    )
    return float(problem.cost[sorted(matching)].sum()) + _cover(failing, problem.cost)


def _cover(rows: frozenset[frozenset[int]], cost: Floats) -> float:
    """Least cost of numbers that hit every row: some number of the shortest row is among them."""

    @cache
    def least(rest: frozenset[frozenset[int]]) -> float:
        if not rest:
            return 0.0
        shortest = min(rest, key=lambda row: (len(row), sorted(row)))
        return min(float(cost[t]) + least(frozenset(row for row in rest if t not in row)) for t in shortest)

    return least(rows)


def strategy(problem: Problem) -> float:
    """Expected cost of the best adaptive schedule, which may choose by all that it has seen of the event.

    By dynamic programming over what can be known: each predicate open, true or false. Predicates are independent.
    """
    if problem.predicates > MOST_PREDICATES:
        raise TamisError(f"{problem.predicates} predicates are too many to try everything; {MOST_PREDICATES} are not")
    wants = np.zeros(problem.subscriptions, np.int64)
    owners = np.repeat(np.arange(problem.subscriptions), np.diff(problem.offsets))
    np.bitwise_or.at(wants, owners, np.left_shift(np.int64(1), problem.members.astype(np.int64)))
    return float(best_strategy(problem.predicates, wants, problem.cost, problem.selectivity))
