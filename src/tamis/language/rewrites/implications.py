"""When one literal, or a whole conjunct, makes another literal hold."""

from __future__ import annotations

from tamis.language.extents import Extent, everything, includes, intersection
from tamis.language.literals import known_extent
from tamis.language.predicates import Literal, Not, Present, Versus, attributes_of
from tamis.language.pushed import Conjunct
from tamis.schema import Schema


class Summary:
    """What a conjunct says of each attribute, precomputed for many questions.

    `values` holds, for single-valued attributes, the values that all its known literals leave.
    """

    def __init__(self, conjunct: Conjunct, schema: Schema) -> None:
        self.conjunct = conjunct
        self.literals = frozenset(conjunct)
        self.schema = schema
        self.present: set[str] = set()
        self.values: dict[str, Extent] = {}
        self.several: dict[str, list[Literal]] = {}
        for literal in conjunct:
            if isinstance(literal, Not) and isinstance(literal.leaf, Present):
                continue
            names = attributes_of(literal)
            self.present.update(names)
            leaf = literal.leaf if isinstance(literal, Not) else literal
            if isinstance(leaf, Versus):
                continue
            attribute = schema.attributes[names[0]]
            if attribute.multiple:
                self.several.setdefault(attribute.name, []).append(literal)
            elif (extent := known_extent(literal, attribute)) is not None:
                known = self.values.get(attribute.name, everything(attribute))
                self.values[attribute.name] = intersection(known, extent)

    def implies(self, literal: Literal) -> bool:
        """Whether whatever satisfies the conjunct satisfies the literal; False where that is not seen."""
        if literal in self.literals:
            return True
        if isinstance(literal, Present):
            return literal.attribute in self.present
        leaf = literal.leaf if isinstance(literal, Not) else literal
        if isinstance(leaf, Versus | Present) or leaf.attribute not in self.present:
            return False
        attribute = self.schema.attributes[leaf.attribute]
        if not attribute.multiple:
            extent, ours = known_extent(literal, attribute), self.values.get(attribute.name)
            return extent is not None and ours is not None and includes(extent, ours)
        return any(self._implied_of_many(other, literal) for other in self.several.get(attribute.name, ()))

    def _implied_of_many(self, ours: Literal, theirs: Literal) -> bool:
        """On several values: a smaller set implies a larger one, and not having the larger implies the other way."""
        if isinstance(ours, Not) != isinstance(theirs, Not):
            return False
        inner, outer = (theirs.leaf, ours.leaf) if isinstance(ours, Not) and isinstance(theirs, Not) else (ours, theirs)
        attribute = self.schema.attributes[attributes_of(inner)[0]]
        small, large = known_extent(inner, attribute), known_extent(outer, attribute)
        return small is not None and large is not None and includes(large, small)
