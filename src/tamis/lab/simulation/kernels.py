"""Distances in a graph, and messages of schemes as boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.index.messages import Form, Operation


@bare_kernel
def hops_from(first: Any, neighbour: Any, start: int, hops: Any, queue: Any) -> None:
    """Number of links from one node of a graph to each; -1 where there is no way."""
    hops[:] = -1
    hops[start] = 0
    queue[0] = start
    done, known = 0, 1
    while done < known:
        node = queue[done]
        done += 1
        for k in range(first[node], first[node + 1]):
            other = neighbour[k]
            if hops[other] < 0:
                hops[other] = hops[node] + 1
                queue[known] = other
                known += 1


@inlined_kernel
def _everything(low: Any, high: Any, box: int) -> None:
    low[box, :] = -np.inf
    high[box, :] = np.inf


@inlined_kernel
def _reach(low: Any, high: Any, box: int, dimension: int, start: float, stop: float) -> None:
    """Ranges with their low end at `start` or below, and their high end at `stop` or above."""
    high[box, dimension] = min(high[box, dimension], start)
    low[box, dimension + 1] = max(low[box, dimension + 1], stop)


@inlined_kernel
def _alone(low: Any, high: Any, box: int, dimension: int, numbers: Any, here: int, end: int) -> bool:
    """Ranges that hold the first of the numbers and none of the others; whether there can be one."""
    value = numbers[here]
    _reach(low, high, box, dimension, value, value)
    for k in range(here + 1, end):
        other = numbers[k]
        if other == value:
            return False
        if other < value:
            low[box, dimension] = max(low[box, dimension], np.nextafter(other, np.inf))
        else:
            high[box, dimension + 1] = min(high[box, dimension + 1], np.nextafter(other, -np.inf))
    return True


@bare_kernel
def boxes_of(messages: Any, groups: Any, dimension: Any, chosen: Any, first: Any, low: Any, high: Any) -> int:
    """The filters of chosen messages as boxes; how many boxes.

    `messages` are `Messages.arrays`. `dimension[t]` is where the ends of table t's ranges stand in the space. Boxes of
    the k-th chosen message begin at `first[k]`. Messages with an address have none.
    """
    form, group, address, first_tuple, operation, table, _, first_value, values, first_number, numbers = messages
    box = 0
    for k in range(len(chosen)):
        m = chosen[k]
        first[k] = box
        if address[m] >= 0:
            continue
        start, stop, here, end = first_tuple[m], first_tuple[m + 1], first_number[m], first_number[m + 1]
        if form[m] == Form.JOINED:
            for t in range(start, stop):
                if t == start or table[t] <= table[t - 1]:
                    _everything(low, high, box)
                    box += 1
                value = values[first_value[t]]
                _reach(low, high, box - 1, dimension[table[t]], value, value)
            continue
        if form[m] == Form.DROPPED:
            _everything(low, high, box)
            if _alone(low, high, box, dimension[groups[group[m], 1]], numbers, here, end):
                box += 1
            continue
        for t in range(start, stop):
            if operation[t] == Operation.DROP:
                continue
            value = values[first_value[t]]
            if form[m] == Form.SELECTED:
                _everything(low, high, box)
                _reach(low, high, box, dimension[table[t]], value, value)
                box += 1
                continue
            filtering = dimension[groups[group[m], 1]]
            if form[m] == Form.EXPOSED:
                _everything(low, high, box)
                _reach(low, high, box, dimension[table[t]], value, value)
                if _alone(low, high, box, filtering, numbers, here, end):
                    box += 1
                continue
            step = 2 if form[m] == Form.SKYLINE else 1
            for n in range(here, end, step):
                _everything(low, high, box)
                _reach(low, high, box, dimension[table[t]], value, value)
                _reach(low, high, box, filtering, numbers[n], numbers[n + step - 1])
                box += 1
    first[len(chosen)] = box
    return box
