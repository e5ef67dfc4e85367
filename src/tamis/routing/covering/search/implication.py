"""When the facts of one conjunction make those of another hold."""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel
from tamis.routing.covering.facts.kernels import (
    ABSENT,
    EVERY,
    NO_PATTERN,
    PATTERN,
    SOME,
    matches_pattern,
)
from tamis.routing.covering.facts.places import holds_all

# It does not follow; it needs a closer look than facts allow; it follows.
NO, ASK, YES = range(3)
_MOST_POINTS = 64


@bare_kernel
def is_among(runs: Any, attribute: int, item: int, number: int) -> bool:
    """True if a number is among those of an attribute's item."""
    if runs[0][attribute] < 0:
        return False
    return matches_pattern(runs, attribute, item, number)


@bare_kernel
def all_points(attribute: int, number: int, pattern: int, wanted: bool, sets: Any, patterns: Any) -> bool:
    """True if a set is of few constants, and all of them match a pattern, or all do not."""
    offsets, lows, highs = sets
    hits, _, firsts, codes = patterns
    start, stop = offsets[number], offsets[number + 1]
    if hits[0][attribute] < 0 or stop - start > _MOST_POINTS:
        return False
    for i in range(start, stop):
        if highs[i] - lows[i] >= _MOST_POINTS:
            return False
        for place in range(lows[i], highs[i] + 1):
            code = codes[firsts[attribute] + place]
            if code & 1 == 0 or matches_pattern(hits, attribute, code >> 1, pattern) != wanted:
                return False
    return True


@bare_kernel
def follows(fact: int, first: int, begin: int, end: int, facts: Any, sets: Any, patterns: Any, others: Any) -> int:
    """Whether one fact follows from those of a conjunction, begin to end, of which `first` is the attribute's first."""
    _, attributes, kinds, numbers = facts
    set_offsets, lows, highs = sets
    attribute, kind, number = attributes[fact], kinds[fact], numbers[fact]
    if kind == ABSENT:
        return YES if kinds[first] == ABSENT else NO
    if kinds[first] == ABSENT:
        return NO
    if kind == EVERY:
        return YES if holds_all(set_offsets, lows, highs, number, numbers[first]) else NO
    k = first
    while k < end and attributes[k] == attribute:
        if kind == SOME:
            if kinds[k] <= SOME and holds_all(set_offsets, lows, highs, number, numbers[k]):
                return YES
        elif kinds[k] == kind and numbers[k] == number:
            return YES
        elif kind == PATTERN:
            if kinds[k] == PATTERN and is_among(patterns[1], attribute, numbers[k], number):
                return YES
            if kinds[k] <= SOME and all_points(attribute, numbers[k], number, True, sets, patterns):
                return YES
        elif kind == NO_PATTERN:
            if kinds[k] == NO_PATTERN and is_among(patterns[1], attribute, number, numbers[k]):
                return YES
            if kinds[k] == EVERY and all_points(attribute, numbers[k], number, False, sets, patterns):
                return YES
        k += 1
    if kind <= NO_PATTERN:
        return NO
    for k in range(begin, end):
        if attributes[k] == others[number]:
            return ASK
    return NO


@bare_kernel
def implies(stronger: int, weaker: int, facts: Any, sets: Any, patterns: Any, others: Any) -> int:
    """Whether every event that satisfies the one conjunction satisfies the other: NO, ASK or YES."""
    offsets, attributes, _, _ = facts
    begin, end = offsets[stronger], offsets[stronger + 1]
    k, answer = begin, YES
    for fact in range(offsets[weaker], offsets[weaker + 1]):
        while k < end and attributes[k] < attributes[fact]:
            k += 1
        if k == end or attributes[k] != attributes[fact]:
            return NO
        held = follows(fact, k, begin, end, facts, sets, patterns, others)
        if held == NO:
            return NO
        answer = min(answer, held)
    return answer
