"""When a conjunct makes a literal hold."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.language.extents import Extent, includes, intersection
from tamis.language.literals import known_extent
from tamis.language.predicates import Literal, Not, Present, Versus, attributes_of
from tamis.language.pushed import Conjunct
from tamis.schema import Schema


class Implications:
    """What conjuncts imply, for many questions over the same literals: their sets of values are computed once."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._extents: dict[Literal, Extent | None] = {}

    def extent(self, literal: Literal) -> Extent | None:
        """The values that a literal leaves to a single-valued attribute, or of which it wants one among several."""
        if literal not in self._extents:
            attribute = self._schema.attributes[attributes_of(literal)[0]]
            leaf = literal.leaf if isinstance(literal, Not) else literal
            known = None if isinstance(leaf, Versus) else known_extent(literal, attribute)
            self._extents[literal] = known
        return self._extents[literal]

    def multiple(self, name: str) -> bool:
        return self._schema.attributes[name].multiple


class Summary:
    """What one conjunct says of each attribute."""

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
        """The values that all its known literals leave to a single-valued attribute; None where it has none."""
        return self._values.get(name)

    def several(self, name: str) -> Sequence[Literal]:
        """What it says of an attribute with several values."""
        return self._several.get(name, ())

    def implies(self, literal: Literal) -> bool:
        """Whether whatever satisfies the conjunct satisfies the literal; False where that is not seen."""
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
        """On several values: a smaller set implies a larger one, and not having the larger implies the other way."""
        if isinstance(ours, Not) != isinstance(theirs, Not):
            return False
        inner, outer = (theirs.leaf, ours.leaf) if isinstance(ours, Not) and isinstance(theirs, Not) else (ours, theirs)
        small, large = self._implications.extent(inner), self._implications.extent(outer)
        return small is not None and large is not None and includes(large, small)
