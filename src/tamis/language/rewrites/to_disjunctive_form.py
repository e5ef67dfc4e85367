"""AND over OR is multiplied out, simplified at every step, and stopped where it grows too large."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.errors import FilterTooComplex
from tamis.language.calls import Call, Constraint
from tamis.language.limits import Limits
from tamis.language.predicates import Literal, sort_key
from tamis.language.pushed import All, Conjunct, Pushed, Some
from tamis.language.rewrites.absorb import absorb
from tamis.language.rewrites.drop_implied import drop_implied
from tamis.language.rewrites.find_contradictions import find_contradictions
from tamis.language.rewrites.find_tautologies import find_tautologies
from tamis.language.rewrites.join_alternatives import join_alternatives
from tamis.language.rewrites.join_versus import join_versus
from tamis.language.rewrites.merge_intervals import merge_intervals
from tamis.language.rewrites.merge_versus import merge_versus
from tamis.schema import Schema


def to_disjunctive_form(pushed: Pushed, schema: Schema, limits: Limits, text: str = "") -> list[Conjunct]:
    """The conjuncts of which one holds iff the filter does, sorted; `FilterTooComplex` past the limits."""
    return _Distribution(schema, limits, text).conjuncts(pushed)


class _Distribution:
    """One run; every list of conjuncts that a method returns is simplified and within the limits."""

    def __init__(self, schema: Schema, limits: Limits, text: str) -> None:
        self.schema = schema
        self.limits = limits
        self.text = text

    def conjuncts(self, pushed: Pushed) -> list[Conjunct]:
        match pushed:
            case All(items):
                return self.product(items)
            case Some(items):
                return self.simplified([conjunct for item in items for conjunct in self.conjuncts(item)])
        return self.simplified([(_literal(pushed),)])

    def product(self, items: Sequence[Pushed]) -> list[Conjunct]:
        literals = [_literal(item) for item in items if not isinstance(item, All | Some)]
        product = self.simplified([_conjunct(literals)])
        factors = [self.conjuncts(item) for item in items if isinstance(item, All | Some)]
        # Small factors first: contradictions among them keep the product small for longer.
        for factor in sorted(factors, key=len):
            self.check(len(product) * len(factor), 10)
            product = self.simplified([_conjunct((*left, *right)) for left in product for right in factor])
        return product

    def simplified(self, conjuncts: Sequence[Conjunct]) -> list[Conjunct]:
        """The same disjunction in the form that no rewrite changes any more."""
        current = _sorted(conjuncts)
        while True:
            merged = [self.merged(conjunct) for conjunct in current]
            possible = _sorted([conjunct for conjunct in merged if not find_contradictions(conjunct)])
            joined = join_versus(join_alternatives(possible, self.schema), self.schema)
            self.check(len(joined), 2)
            absorbed = _sorted(find_tautologies(absorb(joined, self.schema)))
            if absorbed == current:
                break
            current = absorbed
        self.check(len(current), 1)
        literals = sum(map(len, current))
        if literals > self.limits.literals:
            raise self.too_complex(f"{literals:,} comparisons in all", f"{self.limits.literals:,}")
        return current

    def merged(self, conjunct: Conjunct) -> Conjunct:
        return drop_implied(merge_versus(merge_intervals(conjunct, self.schema), self.schema))

    def check(self, count: int, slack: int) -> None:
        """Refuses what is too large; steps in between may be larger than the result, by the slack, but no more."""
        if count > slack * self.limits.conjuncts:
            raise self.too_complex(f"{count:,} alternatives or more", f"{self.limits.conjuncts:,}")

    def too_complex(self, size: str, limit: str) -> FilterTooComplex:
        size = f"the filter comes to {size} when its ORs are multiplied out, and at most {limit} are taken"
        message = f"{size}; split it at an OR into several subscriptions"
        return FilterTooComplex(message, self.text, 0, len(self.text))


def _literal(pushed: Pushed) -> Literal:
    if isinstance(pushed, All | Some | Call | Constraint):
        raise TypeError(f"{pushed} is no plain literal; separate_calls takes the others away first")
    return pushed


def _conjunct(literals: Sequence[Literal]) -> Conjunct:
    return tuple(sorted(set(literals), key=sort_key))


def _sorted(conjuncts: Sequence[Conjunct]) -> list[Conjunct]:
    return sorted(set(conjuncts), key=lambda conjunct: [sort_key(literal) for literal in conjunct])
