"""What the language makes of a text (normal form, canonical text, bound template) means what the text means."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import pyarrow as pa
from hypothesis import given, settings

from tamis.errors import FilterTooComplex
from tamis.language import Block, Filter, bind, normalise, parse, print_filter
from tamis.language.predicates import Literal, Not, Slot
from tamis.language.tree import FALSE, TRUE, And, Negation, Or, Tree
from tamis.matching.naive import event_values, holds
from tamis.testing import Generated, workloads
from tests.generated import cases


@settings(max_examples=cases(60))
@given(workload=workloads())
def test_a_normal_form_means_what_its_text_means(workload: Generated) -> None:
    rows = event_values(workload.schema.to_arrow(workload.events), workload.schema)
    for text in workload.subscriptions.values():
        tree = parse(text, workload.schema)
        with suppress(FilterTooComplex):
            normal = _tree(normalise(tree, workload.schema))
            for values in rows:
                assert holds(normal, values, workload.schema) == holds(tree, values, workload.schema), text


@settings(max_examples=cases(50))
@given(workload=workloads(max_events=0))
def test_canonical_text_has_the_same_normal_form(workload: Generated) -> None:
    for text in workload.subscriptions.values():
        with suppress(FilterTooComplex):
            normal = normalise(parse(text, workload.schema), workload.schema)
            canonical = print_filter(normal, workload.schema)
            assert normalise(parse(canonical, workload.schema), workload.schema) == normal, (text, canonical)


@settings(max_examples=cases(60))
@given(workload=workloads())
def test_texts_bound_together_mean_what_they_mean_alone(workload: Generated) -> None:
    texts = list(workload.subscriptions.values()) * 2
    bound = bind(texts, workload.schema)
    rows = event_values(workload.schema.to_arrow(workload.events), workload.schema)
    seen = [row for row, _ in bound.errors]
    for block in bound.blocks:
        for position, row in enumerate(block.rows.tolist()):
            seen.append(row)
            tree, filled = parse(texts[row], workload.schema), _tree(_filled(block, position))
            for values in rows:
                assert holds(filled, values, workload.schema) == holds(tree, values, workload.schema), texts[row]
    assert sorted(seen) == list(range(len(texts)))


def _tree(filter: Filter) -> Tree:
    conjuncts = [_and(conjunct) for conjunct in filter.conjuncts]
    if len(conjuncts) < 2:
        return conjuncts[0] if conjuncts else FALSE
    return Or(tuple(conjuncts))


def _and(conjunct: tuple[Literal, ...]) -> Tree:
    items = tuple(Negation(literal.leaf) if isinstance(literal, Not) else literal for literal in conjunct)
    if len(items) < 2:
        return items[0] if items else TRUE
    return And(items)


def _filled(block: Block, position: int) -> Filter:
    """The block's template with the values of one of its rows in the slots."""

    def value(operand: Any) -> Any:
        if isinstance(operand, Slot):
            found = block.columns[operand.number][position]
            return found.as_py() if isinstance(found, pa.Scalar) else found.item()
        return tuple(map(value, operand)) if isinstance(operand, tuple) else operand

    def literal(given: Literal) -> Literal:
        if isinstance(given, Not):
            return Not(literal(given.leaf))  # type: ignore[arg-type]
        return replace(given, **{each.name: value(getattr(given, each.name)) for each in fields(given)})

    return Filter(tuple(tuple(literal(each) for each in conjunct) for conjunct in block.template.conjuncts))
