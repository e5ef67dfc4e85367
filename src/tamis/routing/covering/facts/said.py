"""What a conjunction over codes says, one thing a row, by attribute, before it is put together."""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel
from tamis.matching.codes.codes import HIGHEST, LISTED, LOWEST, NEGATED

# What a column holds (encoding/columns.py), in the order of its kinds.
VALUE, LEAST, GREATEST, VERSUS_COLUMN, VALUES, PATTERNS = range(6)

# What a conjunction says, one thing a row, before it is put together: codes from a to b, or listed[a:b], or a number.
SAID_PRESENT, SAID_IN, SAID_NOT_IN, SAID_LIST, SAID_NOT_LIST, SAID_ABSENT, SAID_SOME, SAID_SOME_LIST = range(8)
SAID_PATTERN, SAID_NO_PATTERN, SAID_VERSUS, SAID_NO_VERSUS = range(8, 12)


@bare_kernel
def note(raw: Any, n: int, attribute: int, what: int, a: int, b: int) -> int:
    """Enters one thing said, behind all that is said of attributes before it."""
    at = n
    while at > 0 and raw[at - 1, 0] > attribute:
        for field in range(4):
            raw[at, field] = raw[at - 1, field]
        at -= 1
    raw[at, 0], raw[at, 1], raw[at, 2], raw[at, 3] = attribute, what, a, b
    return n + 1


@bare_kernel
def note_interval(raw: Any, n: int, column: int, low: int, high: int, columns: Any) -> int:
    kinds, attributes, others = columns
    kind, attribute = kinds[column], attributes[column]
    if kind == VALUE:
        return note(raw, n, attribute, SAID_IN, low, high)
    if kind == VERSUS_COLUMN:
        n = note(raw, n, attribute, SAID_VERSUS if low == 1 else SAID_NO_VERSUS, column, 0)
        n = note(raw, n, attribute, SAID_PRESENT, 0, 0)
        return note(raw, n, others[column], SAID_PRESENT, 0, 0)
    if low == LOWEST and high == HIGHEST:
        return note(raw, n, attribute, SAID_PRESENT, 0, 0)
    return note(raw, n, attribute, SAID_SOME, low, high)


@bare_kernel
def note_test(raw: Any, n: int, test: int, tests: Any, columns: Any) -> int:
    test_columns, flags, lows, highs = tests
    column, flag, low, high = test_columns[test], flags[test], lows[test], highs[test]
    kind, attribute = columns[0][column], columns[1][column]
    negated, listed = flag & NEGATED != 0, flag & LISTED != 0
    if kind == PATTERNS:
        n = note(raw, n, attribute, SAID_PRESENT, 0, 0)
        return note(raw, n, attribute, SAID_NO_PATTERN if negated else SAID_PATTERN, low >> 1, 0)
    if negated and not listed and low == LOWEST and high == HIGHEST:
        return note(raw, n, attribute, SAID_ABSENT, 0, 0)
    if negated:
        return note(raw, n, attribute, SAID_NOT_LIST if listed else SAID_NOT_IN, low, high)
    if kind == VALUES:
        return note(raw, n, attribute, SAID_SOME_LIST if listed else SAID_SOME, low, high)
    if listed:
        return note(raw, n, attribute, SAID_LIST, low, high)
    return note_interval(raw, n, column, low, high, columns)


@bare_kernel
def said(conjunct: int, conjuncts: Any, columns: Any, raw: Any) -> int:
    """All that one conjunction says, by attribute; returns how much that is."""
    offsets, interval_columns, lows, highs, test_offsets, numbers, tests, _ = conjuncts
    n = 0
    for i in range(offsets[conjunct], offsets[conjunct + 1]):
        # One code of a set is there to be found by, and is also among the tests.
        if columns[0][interval_columns[i]] < VALUES:
            n = note_interval(raw, n, interval_columns[i], lows[i], highs[i], columns)
    for i in range(test_offsets[conjunct], test_offsets[conjunct + 1]):
        n = note_test(raw, n, numbers[i], tests, columns)
    return n
