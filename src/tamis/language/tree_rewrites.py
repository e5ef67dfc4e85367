"""Rewrites of a filter's syntax tree to disjunctive normal form, from De Morgan's laws to distribution of AND over OR.

push_negation        NOT moves through AND and OR to the leaves
fold_constants       TRUE and FALSE vanish from AND and OR; nested ANDs and ORs become one
simplify_leaves      each leaf by itself: the one way to write it, or TRUE, FALSE or presence where it comes to that
to_disjunctive_form  AND over OR is multiplied out, simplified at every step, and stopped where it grows too large
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tamis.errors import FilterTooComplex
from tamis.language.absorption import absorb
from tamis.language.calls import Call, Constraint, fields_of, opposite, part_key
from tamis.language.conjunct_rewrites import drop_implied, find_contradictions, merge_intervals, merge_versus
from tamis.language.disjunction_rewrites import find_tautologies, join_alternatives, join_versus
from tamis.language.extents import (
    NOTHING,
    alternatives_of,
    everything,
    known_extent,
    leaf_of,
    literals_of,
    negatives_of,
)
from tamis.language.patterns import Wildcard, read_like, write_like
from tamis.language.predicates import (
    Between,
    Leaf,
    Like,
    Literal,
    Never,
    Not,
    OneOf,
    Present,
    RLike,
    Slot,
    Versus,
    attributes_of,
    equals,
    sort_key,
)
from tamis.language.tree import And, Conjunct, Constant, Limits, Negation, Or, Pushed, Tree, in_order
from tamis.schema import Attribute, Schema


def push_negation(tree: Tree, negated: bool = False) -> Pushed:
    """Pushes negations of a filter, or of its negation, down to the leaves.

    This is the definition of NOT over AND and OR: both sides of De Morgan's laws ask for presence at their leaves.
    """
    match tree:
        case Constant(value):
            return And() if value != negated else Or()
        case Negation(item):
            return push_negation(item, not negated)
        case And(items) | Or(items):
            pushed = tuple(push_negation(item, negated) for item in items)
            return And(pushed) if isinstance(tree, And) != negated else Or(pushed)
        case Call() | Constraint():
            return replace(tree, negated=negated)
    return Not(tree) if negated else tree


def fold_constants(pushed: Pushed) -> Pushed:
    """Folds TRUE and FALSE away: And and Or alternate and have two or more different items."""
    if not isinstance(pushed, And | Or):
        return pushed
    kind, other = (And, Or) if isinstance(pushed, And) else (Or, And)
    items: dict[Pushed, None] = {}
    for item in map(fold_constants, pushed.items):
        if item == other():
            return other()
        items.update(dict.fromkeys(item.items if isinstance(item, kind) else (item,)))
    return next(iter(items)) if len(items) == 1 else kind(tuple(items))


def simplify_leaves(pushed: Pushed, schema: Schema) -> Pushed:
    """Brings every leaf of a filter into its simplest form."""
    return fold_constants(_simplified(pushed, schema))


def _simplified(pushed: Pushed, schema: Schema) -> Pushed:
    match pushed:
        case And(items):
            return And(tuple(_simplified(item, schema) for item in items))
        case Or(items):
            return Or(tuple(_simplified(item, schema) for item in items))
        case Not(leaf):
            return _simple_literal(_simple_leaf(leaf, schema), True, schema)
        case Call():
            return pushed
        case Constraint():
            return _constraint(pushed, schema)
    return _simple_literal(_simple_leaf(pushed, schema), False, schema)


def _constraint(leaf: Constraint, schema: Schema) -> Constraint:
    """Constraint turned round instead of negated, unless an attribute may be multiple; lists sorted, deduplicated."""
    if isinstance(leaf.right, tuple):
        values = tuple(sorted({part_key(value): value for value in leaf.right}.values(), key=part_key))
        single = len(values) == 1 and not isinstance(values[0], Slot)
        leaf = replace(leaf, operator="=", right=values[0]) if single else replace(leaf, right=values)
    if leaf.negated and not any(schema.attributes[name].multiple for name in fields_of(leaf)):
        return opposite(leaf)
    return leaf


def _simple_leaf(leaf: Leaf, schema: Schema) -> Leaf:
    """Leaf in its one form, before its sign is looked at."""
    match leaf:
        case Like(attribute, pattern, ignore_case) if not isinstance(pattern, Slot):
            parts = read_like(pattern.lower() if ignore_case else pattern) or []
            if not ignore_case and not any(isinstance(part, Wildcard) for part in parts):
                return equals(attribute, "".join(map(str, parts)))
            written = write_like(parts)
            return _always(attribute) if written == "%" else Like(attribute, written, ignore_case)
        case RLike(attribute, ""):
            return _always(attribute)
        case Versus(left, operator, right) if left == right:
            single = not schema.attributes[left].multiple
            if operator == "<":
                return Never(left) if single else leaf
            return _always(left)
        case Versus(left, "=", right):
            return Versus(min(left, right), "=", max(left, right))
    return leaf


def _always(attribute: str) -> Leaf:
    """Comparison that any value satisfies. Not `Present`, whose negation is absence."""
    return Between(attribute, None, None)


def _simple_literal(leaf: Leaf, negated: bool, schema: Schema) -> Pushed:
    if isinstance(leaf, Versus):
        return _reversed(leaf, schema) if negated else leaf
    attribute = schema.attributes[leaf.attribute]
    if isinstance(leaf, Present):
        return Not(leaf) if negated else leaf
    literal: Literal = Not(leaf) if negated else leaf
    if attribute.multiple:
        return _of_many(leaf, negated, attribute)
    extent = known_extent(literal, attribute)
    if extent is None:
        return _flipped(leaf) if negated else leaf
    if extent == NOTHING:
        return Or()
    if leaf_of(extent, attribute) is None and not negated:
        return Or(tuple(alternatives_of(extent, attribute)))
    return And(tuple(literals_of(extent, attribute)))


def _of_many(leaf: Leaf, negated: bool, attribute: Attribute) -> Pushed:
    extent = known_extent(leaf, attribute)
    if extent is None:
        return Not(leaf) if negated else leaf
    if not negated:
        return Or() if extent == NOTHING else Or(tuple(alternatives_of(extent, attribute)))
    if extent == everything(attribute):
        return Or()
    return Present(attribute.name) if extent == NOTHING else And(tuple(negatives_of(extent, attribute)))


def _flipped(leaf: Leaf) -> Literal:
    """Negation of a range with one end that is a slot: the range on its other side."""
    match leaf:
        case Between(name, low, None, closed):
            return Between(name, None, low, high_closed=not closed)
        case Between(name, None, high, _, closed):
            return Between(name, high, None, low_closed=not closed)
    return Not(leaf)


def _reversed(leaf: Versus, schema: Schema) -> Literal:
    """Of two single values in a total order, one is not below the other iff the other is not above it."""
    left, right = schema.attributes[leaf.left], schema.attributes[leaf.right]
    total = left.domain.kind in ("integer", "float", "string", "timestamp")
    if leaf.operator == "=" or left.multiple or right.multiple or not total:
        return Not(leaf)
    return Versus(leaf.right, "<=" if leaf.operator == "<" else "<", leaf.left)


def to_disjunctive_form(pushed: Pushed, schema: Schema, limits: Limits, text: str = "") -> list[Conjunct]:
    """Conjuncts of which one holds iff the filter does, sorted; `FilterTooComplex` past the limits."""
    return _Distribution(schema, limits, text).conjuncts(pushed)


class _Distribution:
    """Distribution of AND over OR, one run; results are simplified and within the limits.

    Every list of conjuncts that a method takes or returns is sorted. Simplified conjuncts are cached, for most come by
    again and again.
    """

    def __init__(self, schema: Schema, limits: Limits, text: str) -> None:
        self.schema = schema
        self.limits = limits
        self.text = text
        self.merged: dict[Conjunct, Conjunct | None] = {}
        self.steps = 0

    def conjuncts(self, pushed: Pushed) -> list[Conjunct]:
        match pushed:
            case And(items):
                return self.product(items)
            case Or(items):
                return self.simplified(in_order(conjunct for item in items for conjunct in self.conjuncts(item)))
        return self.simplified([(_literal(pushed),)])

    def product(self, items: Sequence[Pushed]) -> list[Conjunct]:
        literals = {_literal(item) for item in items if not isinstance(item, And | Or)}
        product = self.simplified([tuple(sorted(literals, key=sort_key))])
        factors = [self.conjuncts(item) for item in items if isinstance(item, And | Or)]
        # Small factors first: contradictions among them keep the product small for longer.
        for factor in sorted(factors, key=len):
            self.check(len(product) * len(factor), 3)
            product = self.simplified(self.multiplied(product, factor))
        return product

    def multiplied(self, product: Sequence[Conjunct], factor: Sequence[Conjunct]) -> list[Conjunct]:
        """Products of every conjunct of the one with every conjunct of the other."""
        literals = sorted({literal for conjunct in (*product, *factor) for literal in conjunct}, key=sort_key)
        # Numbers in the literals' order sort as the literals do, and much faster.
        numbers = {literal: number for number, literal in enumerate(literals)}
        lefts, rights = ([_Factor(one, numbers, self.merged) for one in many] for many in (product, factor))
        pairs = {tuple(sorted(left.numbers | right.numbers)): (left, right) for left in lefts for right in rights}
        multiplied = []
        for found in sorted(pairs):
            conjunct = tuple([literals[number] for number in found])
            multiplied.append(conjunct)
            left, right = pairs[found]
            if left.merged and right.merged and left.attributes.isdisjoint(right.attributes):
                self.merged[conjunct] = conjunct
        return multiplied

    def simplified(self, conjuncts: list[Conjunct]) -> list[Conjunct]:
        """Disjunction in the form that no rewrite changes any more."""
        current = conjuncts
        self.step(sum(map(len, conjuncts)))
        while True:
            possible = self.possible(current)
            joined = join_versus(join_alternatives(possible, self.schema), self.schema)
            self.check(len(joined), 2)
            absorbed = find_tautologies(absorb(joined, self.schema))
            # Seeing that nothing has changed costs less than sorting what is sorted.
            if absorbed == current or (absorbed := in_order(absorbed)) == current:
                break
            current = absorbed
        self.check(len(current), 1)
        literals = sum(map(len, current))
        if literals > self.limits.literals:
            raise self.too_complex(f"{literals:,} comparisons in all", f"{self.limits.literals:,}")
        return current

    def possible(self, conjuncts: list[Conjunct]) -> list[Conjunct]:
        """Conjuncts, each merged by itself, without those that no event satisfies."""
        possible = []
        for conjunct in conjuncts:
            if conjunct not in self.merged:
                self.step(sum(map(_listed, conjunct)))
                merged = drop_implied(merge_versus(merge_intervals(conjunct, self.schema), self.schema))
                self.merged[conjunct] = None if find_contradictions(merged) else merged
            if (left := self.merged[conjunct]) is not None:
                possible.append(left)
        return possible if possible == conjuncts else in_order(possible)

    def check(self, count: int, slack: int) -> None:
        """Refuses what is too large; steps in between may be larger than the result, by the slack, but no more."""
        if count > slack * self.limits.conjuncts:
            raise self.too_complex(f"{count:,} alternatives or more", f"{self.limits.conjuncts:,}")

    def step(self, size: int) -> None:
        """Counts steps: a filter that comes to little may take very many to simplify."""
        self.steps += size
        if self.steps > self.limits.steps:
            size_so_far = f"{self.steps:,} comparisons and listed values or more in all steps"
            raise self.too_complex(size_so_far, f"{self.limits.steps:,}")

    def too_complex(self, size: str, limit: str) -> FilterTooComplex:
        size = f"the filter comes to {size} when its ORs are multiplied out, and at most {limit} are taken"
        message = f"{size}; split it at an OR into several subscriptions"
        return FilterTooComplex(message, self.text, 0, len(self.text))


def _literal(pushed: Pushed) -> Literal:
    if isinstance(pushed, And | Or | Call | Constraint):
        raise TypeError(f"{pushed} is no plain literal; separate_calls takes the others away first")
    return pushed


def _listed(literal: Literal) -> int:
    leaf = literal.leaf if isinstance(literal, Not) else literal
    return len(leaf.values) if isinstance(leaf, OneOf) else 1


class _Factor:
    """Conjunct that is to be multiplied, as the numbers of its literals."""

    __slots__ = ("attributes", "merged", "numbers")

    def __init__(self, conjunct: Conjunct, numbers: Mapping[Literal, int], merged: Mapping[Conjunct, object]) -> None:
        self.numbers = frozenset([numbers[literal] for literal in conjunct])
        self.attributes = frozenset([name for literal in conjunct for name in attributes_of(literal)])
        self.merged = merged.get(conjunct) == conjunct
