"""Kernels of the search for covers: implication between conjunctions, rows and probes of the corner index, settling."""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel, kernel
from tamis.matching.codes.encoding import ABSENT as NOTHING
from tamis.matching.codes.encoding import HIGHEST, LOWEST
from tamis.routing.covering.facts.kernels import ABSENT, EVERY, NO_PATTERN, PATTERN, SOME, matches_pattern
from tamis.routing.covering.facts.places import holds_all

# Implication: do the facts of one conjunction imply those of another?

# Answers: not implied; undecided by facts, needs a closer look; implied.
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
    """True if a set consists of few constants, and all of them match a pattern (`wanted`), or none does."""
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
    """Implication of one fact by a conjunction's facts, begin to end; `first` is the first on the fact's attribute."""
    _, attributes, kinds, numbers = facts
    set_offsets, lows, highs = sets
    attribute, kind, number = attributes[fact], kinds[fact], numbers[fact]
    # Facts of an attribute are sorted by kind: `first` is ABSENT or EVERY, so these two kinds need no loop.
    if kind == ABSENT:
        return YES if kinds[first] == ABSENT else NO
    if kinds[first] == ABSENT:
        return NO
    if kind == EVERY:
        return YES if holds_all(set_offsets, lows, highs, number, numbers[first]) else NO
    # Other kinds may follow from any fact of the attribute: a set from a smaller set, a pattern from a stronger
    # one, or from a set of few constants that all match.
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
    # A comparison of two attributes is left; it may follow from others on either side, which facts do not decide.
    if kind <= NO_PATTERN:
        return NO
    for k in range(begin, end):
        if attributes[k] == others[number]:
            return ASK
    return NO


@bare_kernel
def implies(stronger: int, weaker: int, facts: Any, sets: Any, patterns: Any, others: Any) -> int:
    """Implication between two conjunctions: NO, ASK or YES, the weakest answer over the weaker one's facts."""
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


MOST_ALTERNATIVES = 64  # rows of one conjunction whose values are listed
MOST_ASKED = 16  # closer looks at one filter


@bare_kernel
def ask(out: Any, begin: int, end: int, column: int, low: int, high: int) -> int:
    """Adds an interval, by column; on a column that has one already, their intersection."""
    columns, lows, highs = out
    at = end
    while at > begin and columns[at - 1] >= column:
        at -= 1
    if at < end and columns[at] == column:
        lows[at], highs[at] = max(lows[at], low), min(highs[at], high)
        return end
    for k in range(end, at, -1):
        columns[k], lows[k], highs[k] = columns[k - 1], lows[k - 1], highs[k - 1]
    columns[at], lows[at], highs[at] = column, low, high
    return end + 1


@bare_kernel
def code_of(place: int) -> int:
    """Code of a place in the index of corners: odd, like the codes of constants."""
    return 2 * place + 1


@bare_kernel
def listed_fact(d: int, facts: Any, sets: Any) -> int:
    """EVERY fact with the fewest places, all of them single ones; -1 if there is none."""
    offsets, _, kinds, numbers = facts
    set_offsets, lows, highs = sets
    best, fewest = -1, MOST_ALTERNATIVES + 1
    for fact in range(offsets[d], offsets[d + 1]):
        if kinds[fact] != EVERY:
            continue
        start, stop = set_offsets[numbers[fact]], set_offsets[numbers[fact] + 1]
        if stop - start < 2 or stop - start >= fewest:
            continue
        single = True
        for i in range(start, stop):
            single &= lows[i] == highs[i]
        if single:
            best, fewest = fact, stop - start
    return best


@kernel
def conditions(
    chosen: Any, facts: Any, sets: Any, counts: Any, layout: Any, rows: Any, offsets: Any, out: Any, write: bool
) -> Any:
    """Conditions of each chosen conjunction on the corners of those it covers; returns how many rows and intervals.

    A conjunction is one row, or one for each of the values that it lists. `layout`: for each attribute the columns of
    its least and greatest value at worst, of absence, of members and patterns. `rows[r]`: the conjunction of row r.
    """
    fact_offsets, attributes, kinds, numbers = facts
    set_offsets, lows, highs = sets
    extremes, absences, members, patterns = layout
    count = end = 0
    for d in chosen:
        # A set of separate values has no useful corners: the conjunction becomes a row for each of them.
        listed = listed_fact(d, facts, sets)
        first = set_offsets[numbers[listed]] if listed >= 0 else 0
        last = set_offsets[numbers[listed] + 1] if listed >= 0 else 1
        for alternative in range(first, last):
            begin = end
            for fact in range(fact_offsets[d], fact_offsets[d + 1]):
                x, number = attributes[fact], numbers[fact]
                # First pass: only bounds on rows and intervals are counted, for the caller to
                # allocate.
                if not write:
                    end += 3  # at most
                    continue
                if kinds[fact] == ABSENT:
                    end = ask(out, begin, end, absences[x], 1, 1)
                elif kinds[fact] == PATTERN:
                    end = ask(out, begin, end, patterns[x], code_of(number), code_of(number))
                elif kinds[fact] <= SOME:
                    # Only the ends of a set are indexed: its holes are verified on the facts
                    # afterwards.
                    low, high = lows[set_offsets[number]], highs[set_offsets[number + 1] - 1]
                    if fact == listed:
                        low = high = lows[alternative]
                    bottom = LOWEST if low == 0 else code_of(low)
                    top = HIGHEST if high == counts[x] - 1 else code_of(high)
                    if kinds[fact] == SOME:
                        if low == high:
                            end = ask(out, begin, end, members[x], code_of(low), code_of(low))
                        end = ask(out, begin, end, extremes[x], bottom, HIGHEST)
                        end = ask(out, begin, end, extremes[x] + 1, LOWEST, top)
                    elif low == high:
                        end = ask(out, begin, end, 2 * x, code_of(low), code_of(low))
                    else:
                        # A bound of one corner alone: the other one is then within it too.
                        end = ask(out, begin, end, 2 * x, bottom, top if low > 0 else HIGHEST)
                        if high < counts[x] - 1:
                            end = ask(out, begin, end, 2 * x + 1, bottom, top)
            if write:
                rows[count], offsets[count + 1] = d, end
            count += 1
    return count, end


@bare_kernel
def corners(chosen: Any, facts: Any, sets: Any, layout: Any, codes: Any) -> None:
    """Single codes of each chosen conjunction as a probe: for each attribute its least and greatest allowed place, the
    greatest lower and least upper bound of some value, and absence."""
    fact_offsets, attributes, kinds, numbers = facts
    set_offsets, lows, highs = sets
    extremes, absences, _, _ = layout
    for e in range(len(chosen)):
        for column in range(codes.shape[1] - 1):
            codes[e, column] = NOTHING
        codes[e, codes.shape[1] - 1] = 0
        for fact in range(fact_offsets[chosen[e]], fact_offsets[chosen[e] + 1]):
            x, number = attributes[fact], numbers[fact]
            if kinds[fact] == ABSENT:
                if absences[x] >= 0:
                    codes[e, absences[x]] = 1
            elif kinds[fact] <= SOME:
                low, high = code_of(lows[set_offsets[number]]), code_of(highs[set_offsets[number + 1] - 1])
                if kinds[fact] == EVERY:
                    codes[e, 2 * x], codes[e, 2 * x + 1] = low, high
                if extremes[x] >= 0:
                    great, least = extremes[x], extremes[x] + 1
                    codes[e, great] = low if kinds[fact] == EVERY else max(codes[e, great], low)
                    codes[e, least] = high if kinds[fact] == EVERY else min(codes[e, least], high)


@bare_kernel
def insert(out: Any, begin: int, end: int, code: int) -> int:
    """Inserts a code into an ascending run, once."""
    at = end
    while at > begin and out[at - 1] >= code:
        at -= 1
    if at < end and out[at] == code:
        return end
    for k in range(end, at, -1):
        out[k] = out[k - 1]
    out[at] = code
    return end + 1


@bare_kernel
def members_of(chosen: Any, attribute: int, facts: Any, sets: Any, ends: Any, out: Any) -> int:
    """For each chosen conjunction the places that one of its values certainly has; -1: no room."""
    fact_offsets, attributes, kinds, numbers = facts
    set_offsets, lows, highs = sets
    end = ends[0]
    for e in range(len(chosen)):
        begin = end
        if end + fact_offsets[chosen[e] + 1] - fact_offsets[chosen[e]] > len(out):
            return -1
        for fact in range(fact_offsets[chosen[e]], fact_offsets[chosen[e] + 1]):
            if attributes[fact] == attribute and kinds[fact] <= SOME:
                start, stop = set_offsets[numbers[fact]], set_offsets[numbers[fact] + 1]
                if stop - start == 1 and lows[start] == highs[start]:
                    end = insert(out, begin, end, code_of(lows[start]))
        ends[e + 1] = end
    return end


@bare_kernel
def patterns_of(chosen: Any, attribute: int, facts: Any, sets: Any, patterns: Any, ends: Any, out: Any) -> int:
    """For each chosen conjunction the patterns that one of its values certainly matches; -1: no room."""
    fact_offsets, attributes, kinds, numbers = facts
    set_offsets, lows, _ = sets
    hits, implied, firsts, codes = patterns
    end = ends[0]
    for e in range(len(chosen)):
        begin = end
        for fact in range(fact_offsets[chosen[e]], fact_offsets[chosen[e] + 1]):
            if attributes[fact] != attribute:
                continue
            number = numbers[fact]
            if kinds[fact] == PATTERN and implied[0][attribute] >= 0:
                item = implied[0][attribute] + number
                if end + implied[1][item + 1] - implied[1][item] > len(out):
                    return -1
                for k in range(implied[1][item], implied[1][item + 1]):
                    end = insert(out, begin, end, code_of(implied[2][k]))
            elif kinds[fact] <= SOME and hits[0][attribute] >= 0:
                # A pattern that all of few constants match is among those of the first.
                code = codes[firsts[attribute] + lows[set_offsets[number]]]
                if code & 1 == 0:
                    continue
                item = hits[0][attribute] + (code >> 1)
                if end + hits[1][item + 1] - hits[1][item] > len(out):
                    return -1
                for k in range(hits[1][item], hits[1][item + 1]):
                    if all_points(attribute, number, hits[2][k], True, sets, patterns):
                        end = insert(out, begin, end, code_of(hits[2][k]))
        ends[e + 1] = end
    return end


@bare_kernel
def covered_by(
    owner: int, other: int, skipped: int, classes: Any, facts: Any, sets: Any, patterns: Any, others: Any
) -> int:
    """Covering of a class by another, one conjunction of it skipped: the weakest of NO, ASK, YES over the rest."""
    offsets, members = classes
    answer = YES
    for i in range(offsets[other], offsets[other + 1]):
        if members[i] == skipped:
            continue
        best = NO
        for j in range(offsets[owner], offsets[owner + 1]):
            best = max(best, implies(members[i], members[j], facts, sets, patterns, others))
            if best == YES:
                break
        answer = min(answer, best)
        if answer == NO:
            break
    return answer


@bare_kernel
def settle_covers(
    first: int, stop: int, probed: Any, probes: Any, ends: Any, found: Any, rows: Any, classes: Any, owners: Any,
    demands: Any, facts: Any, sets: Any, patterns: Any, others: Any, cover: Any, asked: Any, work: Any,
) -> int:  # fmt: skip
    """Settles the probed classes first to stop: the first candidate that covers each goes into `cover`.

    Class `probed[e]` was probed with conjunction `probes[e]`, and rows `found[ends[e]:ends[e + 1]]` came back. No class
    covers one that asks for less. What needs a closer look goes to `asked`, pairs (class, owner), of which `work[1]`
    counts how many there are. `work[0]`: candidates looked at.
    """
    owner_offsets, owner_classes = owners
    for e in range(first, stop):
        b, asked_here = probed[e], 0
        for i in range(ends[e], ends[e + 1]):
            # A candidate conjunction passed the index; now decide on its facts whether the probe implies
            # it.
            a = rows[found[i]]
            work[0] += 1
            answer = implies(probes[e], a, facts, sets, patterns, others)
            if answer == NO:
                continue
            # It does: every class with this conjunction may cover, if the class's other conjunctions are
            # covered too.
            for j in range(owner_offsets[a], owner_offsets[a + 1]):
                owner = owner_classes[j]
                if owner == b or demands[owner] > demands[b]:
                    continue
                whole = min(answer, covered_by(owner, b, probes[e], classes, facts, sets, patterns, others))
                if whole != NO and owner > b and demands[owner] == demands[b]:
                    # Of two that cover each other the one that comes first is to stay.
                    back = covered_by(b, owner, -1, classes, facts, sets, patterns, others)
                    whole = NO if back == YES else min(whole, YES - back)
                if whole == YES:
                    cover[b] = owner
                    break
                if whole == ASK and asked_here < MOST_ASKED and work[1] < len(asked):
                    asked[work[1], 0], asked[work[1], 1] = b, owner
                    work[1] += 1
                    asked_here += 1
            if cover[b] >= 0:
                break
    return stop


@bare_kernel
def drop_implied(offsets: Any, members: Any, kept: Any, facts: Any, sets: Any, patterns: Any, others: Any) -> None:
    """Drops, within each run, conjunctions that imply another one of it; of two that imply each other, the later."""
    for s in range(len(offsets) - 1):
        if offsets[s + 1] - offsets[s] > MOST_ALTERNATIVES:
            continue
        for i in range(offsets[s], offsets[s + 1]):
            for j in range(offsets[s], offsets[s + 1]):
                if i == j or not kept[j]:
                    continue
                if implies(members[i], members[j], facts, sets, patterns, others) == YES:
                    kept[i] = False
                    break


@bare_kernel
def covered_by_any(classes: Any, facts: Any, sets: Any, patterns: Any, others: Any, out: Any) -> None:
    """Covered classes by comparing all pairs: the reference that tests hold the search to."""
    for b in range(len(classes[0]) - 1):
        for a in range(len(classes[0]) - 1):
            if a != b and covered_by(a, b, -1, classes, facts, sets, patterns, others) == YES:
                out[b] = True
                break
