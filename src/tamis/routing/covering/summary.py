"""Summary of one conjunct by attribute: value sets, patterns, comparisons of two attributes, and implied literals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from tamis.language.extents import NOTHING, Extent, everything, includes, intersection, points, united, without
from tamis.language.predicates import Like, Literal, Not, Present, RLike, Value, Versus, attributes_of
from tamis.routing.covering.exact_values import admitted, around, is_absence, pattern_implies, satisfies, settled
from tamis.schema import EVENT_TYPE, Attribute, EnumeratedDomain, HierarchicalDomain, Schema

# Comparisons of two attributes with each other, as sets of possible orders (less, equal, more) of their values.

Pair = tuple[str, str]
"""Two attributes, by name in ascending order."""

LESS, SAME, MORE, APART = 1, 2, 4, 8
"""A value of the first attribute of a pair against one of the second; `APART` is for domains in partial order."""

_FORWARD = {"<": LESS, "<=": LESS | SAME, "=": SAME}
_BACKWARD = {"<": MORE, "<=": MORE | SAME, "=": SAME}


def versus_of(literal: Literal) -> Versus | None:
    """Comparison of two attributes that a literal states, or negates."""
    leaf = literal.leaf if isinstance(literal, Not) else literal
    return leaf if isinstance(leaf, Versus) else None


def pair_of(versus: Versus) -> Pair:
    return (versus.left, versus.right) if versus.left <= versus.right else (versus.right, versus.left)


@dataclass(frozen=True, slots=True)
class Compared:
    """Orders of the values of a pair, both of which are present.

    Each value of the one stands to each value of the other in an order that is among `every`; for each of `some` two
    values stand in an order that is among it, which is a part of `every`. Attributes with one value have no `some`.
    """

    every: int
    some: frozenset[int] = frozenset()

    @property
    def impossible(self) -> bool:
        """True if no two values can be ordered so."""
        return not self.every or 0 in self.some

    def implies(self, literal: Literal) -> bool:
        """True if the comparison, of the same pair, follows; exact for two attributes with one value each."""
        versus = versus_of(literal)
        assert versus is not None
        orders = _orders(versus)
        if isinstance(literal, Not):
            return not self.every & orders
        return any(not part & ~orders for part in (self.every, *self.some))


def compared(literals: Iterable[Literal], pair: Pair, schema: Schema) -> Compared:
    """Conjunction of comparisons of one pair.

    >>> one = {"attributes": {"p": "float", "q": "float"}, "event_types": {"e": {"p": "optional", "q": "optional"}}}
    >>> both = compared([Versus("q", "<=", "p"), Not(Versus("p", "=", "q"))], ("p", "q"), Schema.from_dict(one))
    >>> both.every == MORE, both.implies(Versus("q", "<", "p"))
    (True, True)
    """
    attributes = [schema.attributes[name] for name in pair]
    given = [(literal, _orders(versus)) for literal in literals if (versus := versus_of(literal)) is not None]
    excluded = reduce(or_, (orders for literal, orders in given if isinstance(literal, Not)), 0)
    wanted = [orders for literal, orders in given if not isinstance(literal, Not)]
    every = (LESS | SAME | MORE | (APART if any(map(_is_partial, attributes)) else 0)) & ~excluded
    if any(attribute.multiple for attribute in attributes):
        return Compared(every, frozenset(every & orders for orders in wanted))
    for orders in wanted:
        every &= orders
    return Compared(every)


def by_pair(literals: Iterable[Literal]) -> Mapping[Pair, tuple[Literal, ...]]:
    """Comparisons of attributes with each other, by pair."""
    found: dict[Pair, tuple[Literal, ...]] = {}
    for literal in literals:
        versus = versus_of(literal)
        if versus is not None:
            pair = pair_of(versus)
            found[pair] = (*found.get(pair, ()), literal)
    return found


def _orders(versus: Versus) -> int:
    """Orders of a pair for which a comparison holds."""
    return (_FORWARD if versus.left <= versus.right else _BACKWARD)[versus.operator]


def _is_partial(attribute: Attribute) -> bool:
    return isinstance(attribute.domain, EnumeratedDomain | HierarchicalDomain)


_FEW = 1_000


@dataclass(slots=True)
class Said:
    """Condition of a conjunct on one attribute.

    Every value lies within `values`, and for each of `some` there is a value within it; each of these is a part of
    `values`. A single-valued attribute has no `some`: all is in `values`. `patterns` are what sets cannot say; that
    they stay within a range is in the sets already. `compared`: a `Versus` wants it present and says more of it.
    """

    attribute: Attribute
    values: Extent
    some: list[Extent] = field(default_factory=list)
    patterns: list[Literal] = field(default_factory=list)
    present: bool = False
    absent: bool = False
    compared: bool = False

    @property
    def impossible(self) -> bool:
        """True if no event satisfies the condition; exact where there are no patterns and no comparisons of
        attributes."""
        if self.absent:
            return self.present
        return self.present and (self.values == NOTHING or any(part == NOTHING for part in self.some))

    def listed(self, extent: Extent) -> list[Value] | None:
        """Values of a small set, filtered by the patterns that every value must satisfy."""
        found = points(extent, self.attribute, _FEW)
        if found is None:
            return None
        return [v for v in found if all(satisfies(p, v) for p in self.patterns if self._of_every_value(p))]

    def implies(self, literal: Literal) -> bool:
        """True if the literal, on this attribute alone, follows; exact where there are no patterns."""
        if is_absence(literal):
            return self.absent
        if not self.present:
            return False
        leaf = literal.leaf if isinstance(literal, Not) else literal
        if isinstance(leaf, Present) or literal in self.patterns:
            return True
        exact = admitted(leaf, self.attribute)
        if isinstance(leaf, Like | RLike) and exact is None:
            return self._implies_pattern(leaf, isinstance(literal, Not))
        assert exact is not None
        if isinstance(literal, Not):
            beside = intersection(self.values, exact)
            return beside == NOTHING or self._excluded(beside)
        if any(includes(exact, part) for part in (self.values, *self.some)):
            return True
        return any(self._excluded(without(part, exact)) for part in (self.values, *self.some))

    def _excluded(self, extent: Extent) -> bool:
        """True if a set is of few values, and the patterns admit none of them."""
        return bool(self.patterns) and self.listed(extent) == []

    def _implies_pattern(self, leaf: Like | RLike, negated: bool) -> bool:
        if negated:
            if intersection(self.values, around(leaf, self.attribute)) == NOTHING:
                return True
            known = [p.leaf for p in self.patterns if isinstance(p, Not)]
            if any(pattern_implies(leaf, p) for p in known if isinstance(p, Like | RLike)):
                return True
            every = self.listed(self.values)
            return every is not None and not any(satisfies(leaf, value) for value in every)
        if any(pattern_implies(p, leaf) for p in self.patterns if isinstance(p, Like | RLike)):
            return True
        listings = (self.listed(part) for part in (self.values, *self.some))
        return any(found is not None and all(satisfies(leaf, v) for v in found) for found in listings)

    def _of_every_value(self, pattern: Literal) -> bool:
        return isinstance(pattern, Not) or not self.attribute.multiple


class Summary:
    """Summary of a conjunct, attribute by attribute.

    `versus` are its comparisons of attributes with each other. `plain`: neither those nor patterns are in it, so that
    `impossible` and `implies` are exact.
    """

    def __init__(self, conjunct: Iterable[Literal], schema: Schema) -> None:
        self.literals = tuple(conjunct)
        self.said: dict[str, Said] = {}
        self.versus: list[Literal] = []
        self._schema = schema
        for literal in self.literals:
            self._take(literal)
        self._settle()
        self.compared = {pair: compared(literals, pair, schema) for pair, literals in by_pair(self.versus).items()}
        self.plain = not self.versus and not any(said.patterns for said in self.said.values())

    @property
    def impossible(self) -> bool:
        """True if provably no event satisfies the conjunct."""
        return any(said.impossible for said in self.said.values()) or any(
            orders.impossible for orders in self.compared.values()
        )

    def implies(self, literal: Literal) -> bool:
        """True if the literal provably follows."""
        names = attributes_of(literal)
        if len(names) == 1 and names[0] in self.said:
            return self.said[names[0]].implies(literal)
        if names == (EVENT_TYPE,) and isinstance(literal, Present):
            return self._schema.default_event_type is not None
        versus = versus_of(literal)
        orders = None if versus is None else self.compared.get(pair_of(versus))
        return orders is not None and orders.implies(literal)

    def on(self, name: str) -> list[Literal]:
        """Literals on one attribute; a comparison of two attributes is on the first of them."""
        return [literal for literal in self.literals if attributes_of(literal)[0] == name]

    @property
    def names(self) -> list[str]:
        """Attributes that `on` has literals of."""
        return list(dict.fromkeys(attributes_of(literal)[0] for literal in self.literals))

    def _of(self, name: str) -> Said:
        if name not in self.said:
            attribute = self._schema.attributes[name]
            self.said[name] = Said(attribute, settled(everything(attribute), attribute))
        return self.said[name]

    def _take(self, literal: Literal) -> None:
        leaf = literal.leaf if isinstance(literal, Not) else literal
        if isinstance(leaf, Versus):
            self.versus.append(literal)
            for name in (leaf.left, leaf.right):
                said = self._of(name)
                said.present = said.compared = True
            return
        said = self._of(leaf.attribute)
        if is_absence(literal):
            said.absent = True
            return
        said.present = True
        if isinstance(leaf, Present):
            return
        exact = admitted(leaf, said.attribute)
        if exact is None:
            said.patterns.append(literal)
        if isinstance(literal, Not):
            said.values = without(said.values, exact or NOTHING)
        elif said.attribute.multiple:
            said.some.append(exact if exact is not None else around(leaf, said.attribute))
        else:
            said.values = intersection(said.values, exact if exact is not None else around(leaf, said.attribute))

    def _settle(self) -> None:
        for name, said in self.said.items():
            if name == EVENT_TYPE and self._schema.default_event_type is not None:
                said.present = True  # an event that names no type has the default one
            said.some = [intersection(part, said.values) for part in said.some]
            if said.attribute.multiple or not said.patterns:
                continue
            found = said.listed(said.values)
            if found is not None:  # then the patterns have said all they can
                listed = united(((1, value, 0), (1, value, 1)) for value in found)
                said.values = settled(listed, said.attribute)
                said.patterns = []
