"""Absorption: drops conjuncts of a filter that imply another one; and tells what a conjunct implies (`Summary`).

So that not all pairs are compared, `Nesting` indexes sets of values: which of many lie within another, or around it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import or_

from tamis.language.extents import NOTHING, Cut, Extent, Range, includes, intersection, known_extent
from tamis.language.predicates import Literal, Not, Present, Versus, attributes_of
from tamis.language.tree import Conjunct
from tamis.schema import Schema


class Implications:
    """Cache of the sets of values of literals, for many implication checks over the same literals."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._extents: dict[Literal, Extent | None] = {}

    def extent(self, literal: Literal) -> Extent | None:
        """Values that a literal leaves to a single-valued attribute, or of which it wants one among several."""
        if literal not in self._extents:
            attribute = self._schema.attributes[attributes_of(literal)[0]]
            leaf = literal.leaf if isinstance(literal, Not) else literal
            known = None if isinstance(leaf, Versus) else known_extent(literal, attribute)
            self._extents[literal] = known
        return self._extents[literal]

    def multiple(self, name: str) -> bool:
        return self._schema.attributes[name].multiple


class Summary:
    """Summary of one conjunct: the set of values that it leaves to each attribute."""

    def __init__(self, conjunct: Conjunct, implications: Implications) -> None:
        self._implications = implications
        self._literals = frozenset(conjunct)
        self._present: set[str] = set()
        self._values: dict[str, Extent] = {}
        self._several: dict[str, list[Literal]] = {}
        for literal in conjunct:
            if isinstance(literal, Not) and isinstance(literal.leaf, Present):
                continue
            names = attributes_of(literal)
            self._present.update(names)
            if len(names) == 2:
                continue
            extent = implications.extent(literal)
            if implications.multiple(names[0]):
                self._several.setdefault(names[0], []).append(literal)
            elif extent is not None:
                known = self._values.get(names[0])
                self._values[names[0]] = extent if known is None else intersection(known, extent)

    def values(self, name: str) -> Extent | None:
        """Values that all its known literals leave to a single-valued attribute; None where it has none."""
        return self._values.get(name)

    def several(self, name: str) -> Sequence[Literal]:
        """Condition on an attribute with several values."""
        return self._several.get(name, ())

    def implies(self, literal: Literal) -> bool:
        """True if whatever satisfies the conjunct satisfies the literal; False where that is not seen."""
        if literal in self._literals:
            return True
        if isinstance(literal, Present):
            return literal.attribute in self._present
        name = attributes_of(literal)[0]
        extent = self._implications.extent(literal)
        if extent is None:
            return False
        ours = self._values.get(name)
        if ours is not None:
            return includes(extent, ours)
        return any(self._implied_of_many(other, literal) for other in self._several.get(name, ()))

    def _implied_of_many(self, ours: Literal, theirs: Literal) -> bool:
        """True if one implies the other on several values: smaller sets imply larger ones, negated the reverse."""
        if isinstance(ours, Not) != isinstance(theirs, Not):
            return False
        inner, outer = (theirs.leaf, ours.leaf) if isinstance(ours, Not) and isinstance(theirs, Not) else (ours, theirs)
        small, large = self._implications.extent(inner), self._implications.extent(outer)
        return small is not None and large is not None and includes(large, small)


class Nesting:
    """Containment index of extents by number; every answer is a set of numbers as bits, and may have some too many.

    An answer is exact where the extents are single ranges, which most are.
    """

    def __init__(self, extents: Sequence[tuple[int, Extent]]) -> None:
        """`extents` gives each with its number."""
        uses = Counter(part for _, extent in extents for part in extent)
        self._all = sum(1 << number for number, _ in extents)
        self._empty = sum(1 << number for number, extent in extents if extent == NOTHING)
        some = [(number, extent) for number, extent in extents if extent != NOTHING]
        # Where the rarest of its ranges lies within, an extent may: the rarest of them says most.
        self._rarest = _Ends([(number, min(extent, key=uses.__getitem__)) for number, extent in some])
        self._hulls = _Ends([(number, (extent[0][0], extent[-1][1])) for number, extent in some])

    def within(self, extent: Extent) -> int:
        """Sets of which every value is in the extent."""
        found = self._empty
        for part in extent:
            found |= self._rarest.within(part)
        return found

    def around(self, extent: Extent) -> int:
        """Sets that have every value of the extent."""
        return self._all if extent == NOTHING else self._hulls.around((extent[0][0], extent[-1][1]))


class _Ends:
    """Numbered ranges in the order of their starts and of their ends, with the sets of all before and after each."""

    def __init__(self, ranges: Sequence[tuple[int, Range]]) -> None:
        by_start = sorted((part[0], number) for number, part in ranges)
        by_end = sorted((part[1], number) for number, part in ranges)
        self._starts: list[Cut] = [cut for cut, _ in by_start]
        self._ends: list[Cut] = [cut for cut, _ in by_end]
        starting = [1 << number for _, number in by_start]
        ending = [1 << number for _, number in by_end]
        self._start_before = list(accumulate(starting, or_, initial=0))
        self._start_from = list(accumulate(reversed(starting), or_, initial=0))[::-1]
        self._end_before = list(accumulate(ending, or_, initial=0))
        self._end_from = list(accumulate(reversed(ending), or_, initial=0))[::-1]

    def within(self, part: Range) -> int:
        start, end = part
        return self._start_from[bisect_left(self._starts, start)] & self._end_before[bisect_right(self._ends, end)]

    def around(self, part: Range) -> int:
        start, end = part
        return self._start_before[bisect_right(self._starts, start)] & self._end_from[bisect_left(self._ends, end)]


_FEW = 8
"""Conjuncts that are looked at one by one sooner than sieved once more."""


def absorb(conjuncts: Sequence[Conjunct], schema: Schema) -> list[Conjunct]:
    """Drops the conjuncts that imply another one; of some that imply each other, keeps the last."""
    if len(conjuncts) < 2:
        return list(conjuncts)
    stronger = _Stronger(conjuncts, schema)
    kept = (1 << len(conjuncts)) - 1
    # From the last on, so that what is still kept when its turn comes implies nothing later; what implies it is either
    # earlier, or later and not implied by it. What implies one that is gone implies the one it went for.
    for j in reversed(range(len(conjuncts))):
        if kept >> j & 1:
            for i in stronger.than(j, kept):
                kept ^= 1 << i
    return [conjunct for i, conjunct in enumerate(conjuncts) if kept >> i & 1]


class _Stronger:
    """Finds what implies a conjunct. Sets of conjuncts are integers, a bit each, so that many are left out at once."""

    def __init__(self, conjuncts: Sequence[Conjunct], schema: Schema) -> None:
        self._conjuncts = conjuncts
        self._implications = Implications(schema)
        self._summaries: dict[int, Summary] = {}
        self._sieves: dict[str, _Sieve] = {}
        self._holders: dict[Literal, int] = {}
        self._users: dict[str, int] = {}
        for i, conjunct in enumerate(conjuncts):
            for literal in conjunct:
                self._holders[literal] = self._holders.get(literal, 0) | 1 << i
                if not _is_absence(literal):
                    for name in attributes_of(literal):
                        self._users[name] = self._users.get(name, 0) | 1 << i

    def than(self, j: int, among: int) -> Iterator[int]:
        """Conjuncts, among these and other than itself, that imply conjunct j."""
        weaker = self._conjuncts[j]
        left = among & ~(1 << j)
        for literal in weaker:
            # Only a conjunct that has the literal, or speaks of its attribute, implies it.
            names = attributes_of(literal)
            only = len(names) == 2 or _is_absence(literal)
            left &= self._holders[literal] if only else self._users[names[0]]
            if not left:
                return
        for literal in weaker:
            if left.bit_count() > _FEW:
                left &= self._implying(literal)
        for i in _members(left):
            if all(map(self._summary(i).implies, weaker)):
                yield i

    def _implying(self, literal: Literal) -> int:
        """Conjuncts that may imply the literal."""
        name = attributes_of(literal)[0]
        if isinstance(literal, Present):
            return self._users[name]
        extent = self._implications.extent(literal)
        if extent is None:
            return self._holders[literal]
        if name not in self._sieves:
            summaries = [(i, self._summary(i)) for i in _members(self._users[name])]
            self._sieves[name] = _Sieve(name, summaries, self._implications)
        return self._holders[literal] | self._sieves[name].implying(literal, extent)

    def _summary(self, i: int) -> Summary:
        if i not in self._summaries:
            self._summaries[i] = Summary(self._conjuncts[i], self._implications)
        return self._summaries[i]


class _Sieve:
    """Index of conjuncts by the values that they leave to one attribute."""

    def __init__(self, name: str, summaries: Sequence[tuple[int, Summary]], implications: Implications) -> None:
        self._implications = implications
        self._multiple = implications.multiple(name)
        self._implying: dict[Literal, int] = {}
        if not self._multiple:
            values = ((i, summary.values(name)) for i, summary in summaries)
            self._values = Nesting([(i, extent) for i, extent in values if extent is not None])
            return
        # On several values each literal counts by itself: the sieve is of literals, then of conjuncts that have them.
        holders: dict[Literal, int] = {}
        for i, summary in summaries:
            for literal in summary.several(name):
                holders[literal] = holders.get(literal, 0) | 1 << i
        self._holders = list(holders.values())
        self._values = Nesting(self._extents(holders, False))
        self._excluded = Nesting(self._extents(holders, True))

    def implying(self, literal: Literal, extent: Extent) -> int:
        """The conjuncts that may imply the literal, which is of this attribute and has this extent."""
        found = self._implying.get(literal)
        if found is None:
            found = self._of_many(literal, extent) if self._multiple else self._values.within(extent)
            self._implying[literal] = found
        return found

    def _of_many(self, literal: Literal, extent: Extent) -> int:
        if isinstance(literal, Not):
            excluded = self._implications.extent(literal.leaf)
            numbers = 0 if excluded is None else self._excluded.around(excluded)
        else:
            numbers = self._values.within(extent)
        conjuncts = 0
        for number in _members(numbers):
            conjuncts |= self._holders[number]
        return conjuncts

    def _extents(self, literals: Iterable[Literal], negated: bool) -> list[tuple[int, Extent]]:
        """Each literal of one sign that knows its values, by its number."""
        found = []
        for number, literal in enumerate(literals):
            if isinstance(literal, Not) == negated:
                extent = self._implications.extent(literal.leaf if isinstance(literal, Not) else literal)
                if extent is not None:
                    found.append((number, extent))
        return found


def _members(bits: int) -> Iterator[int]:
    while bits:
        member = bits.bit_length() - 1
        bits ^= 1 << member
        yield member


def _is_absence(literal: Literal) -> bool:
    return isinstance(literal, Not) and isinstance(literal.leaf, Present)
