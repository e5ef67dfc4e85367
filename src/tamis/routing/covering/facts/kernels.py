"""Kernels that normalise conjunctions over codes into facts, keeping each set of places and each conjunction once.

A conjunction's conditions are first noted as raw rows, by attribute; then the rows of each attribute become facts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import bare_kernel
from tamis.matching.base.flat_arrays import is_listed
from tamis.matching.codes.encoding import HIGHEST, LISTED, LOWEST, NEGATED
from tamis.routing.covering.facts.places import (
    CONJUNCTIONS,
    FACTS,
    RANGES,
    SETS,
    copy_set,
    holds_all,
    intersect,
    kept_set,
    of_codes,
    of_list,
    subtract,
    whole,
)

# Raw rows: the conditions of one conjunction, one a row, by attribute, before they are combined.

# Kinds of columns (matching/codes/columns.py), in the order of that enumeration.
VALUE, LEAST, GREATEST, VERSUS_COLUMN, VALUES, PATTERNS = range(6)

# Conditions in raw rows: codes from a to b, or listed[a:b], or a number.
SAID_PRESENT, SAID_IN, SAID_NOT_IN, SAID_LIST, SAID_NOT_LIST, SAID_ABSENT, SAID_SOME, SAID_SOME_LIST = range(8)
SAID_PATTERN, SAID_NO_PATTERN, SAID_VERSUS, SAID_NO_VERSUS = range(8, 12)


@bare_kernel
def note(raw: Any, n: int, attribute: int, what: int, a: int, b: int) -> int:
    """Inserts one raw row, behind the rows of attributes before it."""
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
    """Writes all raw rows of one conjunction, by attribute; returns their number."""
    offsets, interval_columns, lows, highs, test_offsets, numbers, tests, _ = conjuncts
    n = 0
    for i in range(offsets[conjunct], offsets[conjunct + 1]):
        # One code of a set is there to be found by, and is also among the tests.
        if columns[0][interval_columns[i]] < VALUES:
            n = note_interval(raw, n, interval_columns[i], lows[i], highs[i], columns)
    for i in range(test_offsets[conjunct], test_offsets[conjunct + 1]):
        n = note_test(raw, n, numbers[i], tests, columns)
    return n


# Kinds of facts about an attribute: every value is in the set; some value is; it is absent; some value matches the
# pattern of that number, or none does; the comparison of that column holds, or does not.
EVERY, SOME, ABSENT, PATTERN, NO_PATTERN, VERSUS, NO_VERSUS = range(7)
# Working memory for sets has three parts: the values allowed so far, an operand, and a result.
_ALLOWED = 0
_MOST_POINTS = 64  # that patterns are tried on

IMPOSSIBLE = -1


@bare_kernel
def matches_pattern(hits: Any, attribute: int, rank: int, pattern: int) -> bool:
    """True if a constant of an attribute, by rank, matches one of its patterns."""
    bases, offsets, numbers = hits
    constant = bases[attribute] + rank
    return is_listed(numbers, offsets[constant], offsets[constant + 1], pattern)


@bare_kernel
def matching_points(
    raw: Any, first: int, last: int, sets: Any, allowed: int, attribute: int, places: Any, hits: Any
) -> int:
    """Replaces a set of few constants by those that match all patterns; -1 if there are other values in the set."""
    firsts, codes = places[2], places[3]
    result = 2 * (len(sets[0]) // 3)
    total = 0
    for i in range(allowed):
        total += sets[1][i] - sets[0][i] + 1
    if hits[0][attribute] < 0 or total > _MOST_POINTS:
        return -1
    n = 0
    for i in range(allowed):
        for place in range(sets[0][i], sets[1][i] + 1):
            code = codes[firsts[attribute] + place]
            if code & 1 == 0:
                return -1
            held = True
            for k in range(first, last):
                if raw[k, 1] == SAID_PATTERN or raw[k, 1] == SAID_NO_PATTERN:
                    held &= matches_pattern(hits, attribute, code >> 1, raw[k, 2]) == (raw[k, 1] == SAID_PATTERN)
            if held:
                if n > 0 and sets[1][result + n - 1] + 1 == place:
                    sets[1][result + n - 1] = place
                else:
                    sets[0][result + n], sets[1][result + n] = place, place
                    n += 1
    copy_set(sets, result, n, _ALLOWED)
    return n


@bare_kernel
def add_fact(facts: Any, begin: int, end: int, attribute: int, kind: int, what: int) -> int:
    """Inserts a fact among those of its attribute, by kind and number, each once."""
    attributes, kinds, numbers = facts
    at = end
    while at > begin and (kinds[at - 1] > kind or (kinds[at - 1] == kind and numbers[at - 1] > what)):
        at -= 1
    if at > begin and kinds[at - 1] == kind and numbers[at - 1] == what:
        return end
    for k in range(end, at, -1):
        attributes[k], kinds[k], numbers[k] = attributes[k - 1], kinds[k - 1], numbers[k - 1]
    attributes[at], kinds[at], numbers[at] = attribute, kind, what
    return end + 1


@bare_kernel
def about_attribute(
    raw: Any, first: int, last: int, listed: Any, places: Any, traits: Any, known: Any, sets: Any, extents: Any,
    facts: Any, counters: Any, end: int,
) -> int:  # fmt: skip
    """Normal form of the facts of one attribute from raw[first:last]; returns their end, or IMPOSSIBLE."""
    starts, below, firsts, _ = places
    multiple, never_absent = traits
    hits, implied = known
    attribute = raw[first, 0]
    count, start = firsts[attribute + 1] - firsts[attribute], starts[attribute]
    codes = starts[attribute + 1] - start - 1
    operand, result = len(sets[0]) // 3, 2 * (len(sets[0]) // 3)
    absent = present = patterns = False
    # First the conditions on every value: `allowed` ranges are what is left of all places after intersecting with
    # each and subtracting each excluded set. Patterns and conditions on some value need the final set, so they
    # come after.
    allowed = whole(count, sets, _ALLOWED)
    for k in range(first, last):
        what, a, b = raw[k, 1], raw[k, 2], raw[k, 3]
        if what == SAID_ABSENT:
            absent = True
            continue
        present = True
        patterns |= what in (SAID_PATTERN, SAID_NO_PATTERN)
        if what < SAID_IN or what > SAID_NOT_LIST:
            continue
        if what in (SAID_IN, SAID_NOT_IN):
            n = of_codes(below, start, codes, a, b, sets, operand)
        else:
            n = of_list(below, start, listed, a, b, sets, operand)
        if what in (SAID_IN, SAID_LIST):
            left = intersect(sets, _ALLOWED, allowed, operand, n, result)
        else:
            left = subtract(sets, _ALLOWED, allowed, operand, n, result)
        copy_set(sets, result, left, _ALLOWED)
        allowed = left
    # Absence excludes any other condition; alone it is the only fact.
    if absent:
        if present or never_absent[attribute]:
            return IMPOSSIBLE
        return add_fact(facts, end, end, attribute, ABSENT, 0)
    # Patterns on a single-valued attribute with few allowed constants are decided here: then the set says it all.
    decided = False
    if patterns and not multiple[attribute]:
        n = matching_points(raw, first, last, sets, allowed, attribute, places, hits)
        if n >= 0:
            allowed, decided = n, True
    if allowed == 0:
        return IMPOSSIBLE
    # The set is final: it becomes the EVERY fact, and conditions on some value are cut to it before they are
    # kept.
    begin = end
    every = kept_set(attribute, sets, _ALLOWED, allowed, extents, counters)
    end = add_fact(facts, begin, end, attribute, EVERY, every)
    for k in range(first, last):
        what, a, b = raw[k, 1], raw[k, 2], raw[k, 3]
        if what in (SAID_SOME, SAID_SOME_LIST):
            if what == SAID_SOME:
                n = of_codes(below, start, codes, a, b, sets, operand)
            else:
                n = of_list(below, start, listed, a, b, sets, operand)
            n = intersect(sets, _ALLOWED, allowed, operand, n, result)
            if n == 0:
                return IMPOSSIBLE
            some = kept_set(attribute, sets, result, n, extents, counters)
            if some != every:
                end = add_fact(facts, begin, end, attribute, SOME, some)
        elif what in (SAID_PATTERN, SAID_NO_PATTERN) and not decided:
            end = add_fact(facts, begin, end, attribute, PATTERN if what == SAID_PATTERN else NO_PATTERN, a)
        elif what in (SAID_VERSUS, SAID_NO_VERSUS):
            end = add_fact(facts, begin, end, attribute, VERSUS if what == SAID_VERSUS else NO_VERSUS, a)
    # Facts that follow from others of the attribute are dropped, so that equal conjunctions get equal facts. A
    # set of all places of an attribute that is always present says nothing and leaves no fact.
    if patterns and not decided and not compatible_patterns(facts, begin, end, implied):
        return IMPOSSIBLE
    end = without_weaker(facts, begin, end, extents, implied)
    if never_absent[attribute] and end == begin + 1 and allowed == 1 and sets[1][0] == count - 1:
        return begin if sets[0][0] == 0 else end
    return end


@bare_kernel
def compatible_patterns(facts: Any, begin: int, end: int, implied: Any) -> bool:
    """True if no pattern that is excluded follows from one that is asked for."""
    attributes, kinds, numbers = facts
    for k in range(begin, end):
        for other in range(begin, end):
            opposed = kinds[k] == PATTERN and kinds[other] == NO_PATTERN
            if opposed and matches_pattern(implied, attributes[k], numbers[k], numbers[other]):
                return False
    return True


@bare_kernel
def follows_alone(facts: Any, fact: int, other: int, extents: Any, implied: Any) -> bool:
    """True if a fact follows from another of its attribute and kind."""
    attributes, kinds, numbers = facts
    if kinds[fact] != kinds[other] or numbers[fact] == numbers[other]:
        return False
    if kinds[fact] == SOME:
        return holds_all(extents[0], extents[1], extents[2], numbers[fact], numbers[other])
    if kinds[fact] == PATTERN:
        return matches_pattern(implied, attributes[fact], numbers[other], numbers[fact])
    if kinds[fact] == NO_PATTERN:
        return matches_pattern(implied, attributes[fact], numbers[fact], numbers[other])
    return False


@bare_kernel
def without_weaker(facts: Any, begin: int, end: int, extents: Any, implied: Any) -> int:
    """Drops facts that follow from another one; of two that follow from each other, the later."""
    attributes, kinds, numbers = facts
    kept = begin
    for k in range(begin, end):
        weaker = False
        for other in range(begin, end):
            if follows_alone(facts, k, other, extents, implied):
                weaker |= other < kept or not follows_alone(facts, other, k, extents, implied)
        if not weaker:
            attributes[kept], kinds[kept], numbers[kept] = attributes[k], kinds[k], numbers[k]
            kept += 1
    return kept


@bare_kernel
def hash_facts(facts: Any, begin: int, end: int) -> Any:
    attributes, kinds, numbers = facts
    value = np.uint64(end - begin + 1)
    for k in range(begin, end):
        value = (value ^ np.uint64(attributes[k] * 8 + kinds[k])) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(29)) ^ np.uint64(numbers[k])) * np.uint64(0x94D049BB133111EB)
        value ^= value >> np.uint64(31)
    return value


@bare_kernel
def same_facts(facts: Any, a: int, b: int, n: int) -> bool:
    attributes, kinds, numbers = facts
    for k in range(n):
        if attributes[a + k] != attributes[b + k] or kinds[a + k] != kinds[b + k] or numbers[a + k] != numbers[b + k]:
            return False
    return True


@bare_kernel
def enter_conjunctions(facts: Any, offsets: Any, table: Any, count: int) -> None:
    """Fills an empty hash table with the conjunctions kept so far."""
    mask = len(table) - 1
    for number in range(count):
        slot = np.int64(hash_facts(facts, offsets[number], offsets[number + 1]) & np.uint64(mask))
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = number


@bare_kernel
def gather(
    first: int, conjuncts: Any, columns: Any, places: Any, traits: Any, known: Any, raw: Any, sets: Any, extents: Any,
    facts: Any, offsets: Any, table: Any, counters: Any, room: Any, distinct: Any,
) -> int:  # fmt: skip
    """Facts of the conjunctions from `first` on, until the arrays may run out of room; returns the first left over.

    `distinct[c]`: the number under which conjunction c is kept, the same for those that say the same; or IMPOSSIBLE.
    Facts of number d are `facts[offsets[d]:offsets[d + 1]]`. `room`: sets, ranges and facts one conjunction may need.
    """
    listed, mask = conjuncts[7], len(table) - 1
    for c in range(first, len(distinct)):
        if (
            counters[SETS] + room[0] >= min(len(extents[3]), len(extents[4]) // 2)
            or counters[RANGES] + room[1] > len(extents[1])
            or counters[FACTS] + room[2] > len(facts[0])
            or counters[CONJUNCTIONS] + 1 >= min(len(offsets), len(table) // 2)
        ):
            return c
        # Raw rows are grouped by attribute; the facts of each group are appended behind the facts kept so
        # far.
        n = said(c, conjuncts, columns, raw)
        begin = end = counters[FACTS]
        k = 0
        while k < n and end != IMPOSSIBLE:
            last = k
            while last < n and raw[last, 0] == raw[k, 0]:
                last += 1
            end = about_attribute(raw, k, last, listed, places, traits, known, sets, extents, facts, counters, end)
            k = last
        if end == IMPOSSIBLE:
            distinct[c] = IMPOSSIBLE
            continue
        # Hash table of kept conjunctions: if an equal one is found, the facts just appended are abandoned.
        slot = np.int64(hash_facts(facts, begin, end) & np.uint64(mask))
        while table[slot] >= 0:
            there = offsets[table[slot]]
            if offsets[table[slot] + 1] - there == end - begin and same_facts(facts, there, begin, end - begin):
                break
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = counters[CONJUNCTIONS]
            counters[CONJUNCTIONS] += 1
            offsets[counters[CONJUNCTIONS]], counters[FACTS] = end, end
        distinct[c] = table[slot]
    return len(distinct)
