"""Conditions hold where the oracle says that they do, and those that are named made the filter match."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings

from tamis.errors import FilterTooComplex
from tamis.language import normalise, parse
from tamis.language.predicates import Like, Literal, Not, OneOf, Order, Present, RLike, Versus, equals
from tamis.language.tree import Negation
from tamis.matching.conditions import Alternative, Values, alternatives_of, event_values, satisfied, what_held
from tamis.matching.naive import holds
from tamis.testing import Generated, workloads
from tests.generated import cases
from tests.matching.columnar.subject import SCHEMA


@settings(max_examples=cases(60))
@given(workload=workloads())
def test_every_condition_of_a_normal_form_is_as_the_oracle_evaluates_it(workload: Generated) -> None:
    schema = workload.schema
    rows = event_values(schema.to_arrow(workload.events), schema)
    for text in workload.subscriptions.values():
        with suppress(FilterTooComplex):
            filter = normalise(parse(text, schema), schema)
            for literal in dict.fromkeys(literal for conjunct in filter.conjuncts for literal in conjunct):
                tree = Negation(literal.leaf) if isinstance(literal, Not) else literal
                for values in rows:
                    assert satisfied(literal, values, schema) == holds(tree, values, schema), (literal, values)


@settings(max_examples=cases(60))
@given(workload=workloads())
def test_some_alternative_holds_iff_the_filter_matches(workload: Generated) -> None:
    schema = workload.schema
    rows = event_values(schema.to_arrow(workload.events), schema)
    for text in workload.subscriptions.values():
        with suppress(FilterTooComplex):
            alternatives = alternatives_of(normalise(parse(text, schema), schema), schema)
            for values in rows:
                assert _some_holds(alternatives, values) == holds(parse(text, schema), values, schema), (text, values)


def _some_holds(alternatives: Sequence[Alternative], values: Values) -> bool:
    return what_held(alternatives, lambda name: values.get(name, ())) is not None


@pytest.mark.parametrize(
    ("literal", "values", "held"),
    [
        (Not(Present("n")), {}, True),
        (Not(Present("n")), {"n": [1]}, False),
        (Not(equals("n", 1)), {}, False),
        (Not(equals("n", 1)), {"n": [2]}, True),
        (Not(equals("sizes", 1)), {"sizes": [2, 1]}, False),
        (OneOf("sizes", (3, 4)), {"sizes": [1, 4]}, True),
        (Order("period", "<", "XVIII"), {"period": ["XVI"]}, True),
        (Order("period", "<", "XVIII"), {"period": ["modern"]}, False),
        (Order("kind", "<=", "seat"), {"kind": ["chair"]}, True),
        (Order("kind", "<", "seat"), {"kind": ["seat"]}, False),
        (Like("s", "o_k%", True), {"s": ["OAK desk"]}, True),
        (RLike("s", "^a+$"), {"s": ["aab"]}, False),
        (Versus("sizes", "<", "n"), {"sizes": [9, 3], "n": [4]}, True),
        (Versus("sizes", "<", "n"), {"sizes": [9, 4], "n": [4]}, False),
        (Versus("marks", "=", "n"), {"marks": [0.5, 4.0], "n": [4]}, True),
        (Versus("period", "<", "era"), {"period": ["XVI"], "era": ["XVIII"]}, True),
        (Versus("periods", "<=", "era"), {"periods": ["modern", "XVIII"], "era": ["XVII"]}, False),
        (Not(Versus("n", "<", "m")), {"n": [1]}, False),
        (Not(Versus("n", "<", "m")), {"n": [1], "m": [1]}, True),
    ],
)
def test_a_condition_asks_for_some_value_and_its_negation_for_none_of_those_there(
    literal: Literal, values: dict[str, Sequence[Any]], held: bool
) -> None:
    assert satisfied(literal, values, SCHEMA) is held
