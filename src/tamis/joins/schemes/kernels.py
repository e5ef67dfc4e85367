"""The filters that subscriptions are reformulated to. Tuples of arrays are `Messages.arrays` and `Shape.arrays`."""

from __future__ import annotations

from typing import Any

from tamis.compiled import inlined_kernel, kernel

_SELECTED, _JOINED, _POINTS, _SKYLINE, _EXPOSED, _DROPPED = range(6)
_INSERT, _DELETE, _DROP = range(3)


@inlined_kernel
def inside(low: Any, high: Any, subscription: int, column: int, values: Any, first: int, count: int) -> bool:
    """Whether so many values, from `first` on, lie in a subscription's intervals, from `column` on."""
    for k in range(count):
        value = values[first + k]
        if not (low[subscription, column + k] <= value <= high[subscription, column + k]):
            return False
    return True


@kernel
def accepted(messages: Any, m: int, low: Any, high: Any, filtering: Any, signature: Any, s: int, shape: Any) -> bool:
    """Whether subscription s accepts message m."""
    form, group, address, first_tuple, _, table, _, first_value, values, first_number, numbers = messages
    groups, first_column, considered = shape
    if address[m] >= 0:
        return bool(address[m] == s)
    start, stop = first_tuple[m], first_tuple[m + 1]
    if form[m] == _SELECTED:
        base = table[start]
        return filtering[s, base] >= 0 and _selects(
            low, high, s, first_column[base], considered[base], first_value, values, start, stop
        )
    if form[m] == _JOINED:
        return signature[s] == group[m] and _selects_result(
            low, high, s, first_column, considered, table, first_value, values, start, stop
        )
    base, column, held_column, wide, held_wide = (
        groups[group[m], 0], groups[group[m], 2], groups[group[m], 3], groups[group[m], 4], groups[group[m], 5]
    )  # fmt: skip
    if filtering[s, base] != group[m] // 2:
        return False
    if form[m] != _DROPPED and not _selects(low, high, s, column, wide, first_value, values, start, stop):
        return False
    here, end = first_number[m], first_number[m + 1]
    if form[m] == _POINTS:
        while here < end:
            if inside(low, high, s, held_column, numbers, here, held_wide):
                return True
            here += held_wide
        return False
    if form[m] == _SKYLINE:
        while here < end:
            if _covered(low, high, s, held_column, numbers, here, held_wide):
                return True
            here += 2 * held_wide
        return False
    if not inside(low, high, s, held_column, numbers, here, held_wide):
        return False
    here += held_wide
    while here < end:
        if inside(low, high, s, held_column, numbers, here, held_wide):
            return False
        here += held_wide
    return True


@inlined_kernel
def _covered(low: Any, high: Any, s: int, column: int, numbers: Any, here: int, wide: int) -> bool:
    """Whether intervals reach down to the first so many numbers, and up to the next: to the northwest of the point.

    An empty interval reaches nothing, though its ends may lie there.
    """
    for k in range(wide):
        start, stop = low[s, column + k], high[s, column + k]
        if not (start <= numbers[here + k] and numbers[here + wide + k] <= stop and start <= stop):
            return False
    return True


@inlined_kernel
def _selects(
    low: Any, high: Any, s: int, column: int, wide: int, first_value: Any, values: Any, start: int, stop: int
) -> bool:
    for k in range(start, stop):  # noqa: SIM110 (Numba compiles no generators here)
        if inside(low, high, s, column, values, first_value[k], wide):
            return True
    return False


@inlined_kernel
def _selects_result(
    low: Any, high: Any, s: int, first_column: Any, considered: Any, table: Any, first_value: Any, values: Any,
    start: int, stop: int,
) -> bool:  # fmt: skip
    """Whether all tuples of a result are selected. Tables ascend in a result, so one begins where they do not."""
    whole = False
    for k in range(start, stop):
        if k > start and table[k] <= table[k - 1]:
            if whole:
                return True
            whole = True
        elif k == start:
            whole = True
        if whole:
            whole = inside(low, high, s, first_column[table[k]], values, first_value[k], considered[table[k]])
    return whole


@kernel
def accepts_one(
    messages: Any, m: int, low: Any, high: Any, filtering: Any, signature: Any, shape: Any, mask: Any
) -> None:
    """`mask[s]`: whether subscription s accepts message m."""
    for s in range(len(mask)):
        mask[s] = accepted(messages, m, low, high, filtering, signature, s, shape)


@kernel
def accepted_by_one(
    messages: Any, low: Any, high: Any, filtering: Any, signature: Any, s: int, shape: Any, mask: Any
) -> None:
    """`mask[m]`: whether subscription s accepts message m."""
    for m in range(len(mask)):
        mask[m] = accepted(messages, m, low, high, filtering, signature, s, shape)
