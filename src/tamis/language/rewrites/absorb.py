"""Conjuncts that another, weaker one makes superfluous."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tamis.language.extents import Extent
from tamis.language.implications import Implications, Summary
from tamis.language.nesting import Nesting
from tamis.language.predicates import Literal, Not, Present, attributes_of
from tamis.language.pushed import Conjunct
from tamis.schema import Schema

_FEW = 8
"""Conjuncts that are looked at one by one sooner than sieved once more."""


def absorb(conjuncts: Sequence[Conjunct], schema: Schema) -> list[Conjunct]:
    """The conjuncts that imply no other one; of some that imply each other, the last."""
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
        """The conjuncts, among these and but for itself, that imply conjunct j."""
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
        """The conjuncts that may imply the literal."""
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
    """What conjuncts say of one attribute, by the values they leave to it."""

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
