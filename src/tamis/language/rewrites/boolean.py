"""AND over OR is multiplied out, simplified at every step, and stopped where it grows too large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tamis.errors import FilterTooComplex
from tamis.language.calls import Call, Constraint
from tamis.language.limits import Limits
from tamis.language.predicates import Literal, Not, OneOf, attributes_of, sort_key
from tamis.language.pushed import Conjunct, Pushed, in_order
from tamis.language.rewrites.absorb import absorb
from tamis.language.rewrites.conjunct import merge_intervals
from tamis.language.rewrites.disjunction import join_alternatives
from tamis.language.rewrites.drop_implied import drop_implied
from tamis.language.rewrites.find_contradictions import find_contradictions
from tamis.language.rewrites.find_tautologies import find_tautologies
from tamis.language.rewrites.join_versus import join_versus
from tamis.language.rewrites.merge_versus import merge_versus
from tamis.language.tree import And, Or
from tamis.schema import Schema


def to_disjunctive_form(pushed: Pushed, schema: Schema, limits: Limits, text: str = "") -> list[Conjunct]:
    """The conjuncts of which one holds iff the filter does, sorted; `FilterTooComplex` past the limits."""
    return _Distribution(schema, limits, text).conjuncts(pushed)


class _Distribution:
    """One run; every list of conjuncts that a method takes or returns is sorted, and what it returns is simplified and
    within the limits. What becomes of a conjunct by itself is kept, for most come by again and again."""

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
        """Every conjunct of the one with every conjunct of the other."""
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
        """The same disjunction in the form that no rewrite changes any more."""
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
        """The conjuncts, each merged by itself, without those that no event satisfies."""
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
        """Counts what is looked at: a filter that comes to little may do so by very many steps."""
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
    """A conjunct that is to be multiplied, as the numbers of its literals."""

    __slots__ = ("attributes", "merged", "numbers")

    def __init__(self, conjunct: Conjunct, numbers: Mapping[Literal, int], merged: Mapping[Conjunct, object]) -> None:
        self.numbers = frozenset([numbers[literal] for literal in conjunct])
        self.attributes = frozenset([name for literal in conjunct for name in attributes_of(literal)])
        self.merged = merged.get(conjunct) == conjunct
