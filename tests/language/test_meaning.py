"""Every form of a filter means the same: syntax tree, normal form, canonical text, and template with its columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tamis.language import DEFAULT_LIMITS, Filter, Limits, bind, normal_form_of, normalise, parse, print_filter
from tamis.language.predicates import Between, Like, Literal, Not, OneOf, Order, RLike, Slot
from tamis.language.shapes import Block, Bound
from tamis.language.tree_rewrites import push_negation, simplify_leaves, to_disjunctive_form
from tests.generated import cases
from tests.language.evaluation import filter_holds, tree_holds
from tests.language.generation import EVENTS, SCHEMA, comparisons, narrow_texts, texts

any_text = texts() | narrow_texts()


@given(any_text)
def test_the_normal_form_means_what_the_tree_means(text: str) -> None:
    tree = parse(text, SCHEMA)
    filter = normalise(tree, SCHEMA)
    for event in EVENTS:
        assert filter_holds(filter, event, SCHEMA) == tree_holds(tree, event, SCHEMA)


@given(any_text)
def test_a_template_with_its_columns_means_what_the_tree_means(text: str) -> None:
    tree = parse(text, SCHEMA)
    for bound in (bind([text], SCHEMA), bind([text] * 20, SCHEMA)):
        assert not bound.errors
        for block in bound.blocks:
            filter = filled(block, len(block.rows) - 1)
            for event in EVENTS:
                assert filter_holds(filter, event, SCHEMA) == tree_holds(tree, event, SCHEMA)


@given(any_text | st.lists(comparisons(), min_size=1, max_size=4).map(" AND ".join))
@example("i1 NOT IN (3, 1) AND f1 >= 1")
@example("i1 BETWEEN 5 AND 1 AND s1 LIKE 'ab'")
def test_a_text_that_is_read_by_its_shape_has_the_normal_form_of_its_tree(text: str) -> None:
    tree = parse(text, SCHEMA)
    filter = normalise(tree, SCHEMA)
    assert normal_form_of(text, SCHEMA) == filter
    simple = simplify_leaves(push_negation(tree), SCHEMA)
    assert tuple(to_disjunctive_form(simple, SCHEMA, DEFAULT_LIMITS)) == filter.conjuncts


@given(any_text)
def test_a_canonical_text_that_limits_admit_is_within_them(text: str) -> None:
    filter = normalise(parse(text, SCHEMA), SCHEMA)
    printed = print_filter(filter, SCHEMA)
    limits = Limits(text=120, depth=8, terms=60, pattern=60, wildcards=60, wildcards_in_all=60)
    if limits.admit(printed):
        assert normalise(parse(printed, SCHEMA, limits), SCHEMA, limits) == filter


@given(any_text)
@example("i1 IN (1, 2, 3, 5) OR i1 BETWEEN 7 AND 20")
def test_the_canonical_text_parses_back_to_the_same_normal_form(text: str) -> None:
    filter = normalise(parse(text, SCHEMA), SCHEMA)
    printed = print_filter(filter, SCHEMA)
    assert normalise(parse(printed, SCHEMA), SCHEMA) == filter, printed


@given(st.lists(st.lists(texts(), min_size=1, max_size=3), min_size=1, max_size=3), st.randoms())
def test_the_order_in_which_conditions_are_written_does_not_matter(groups: list[list[str]], random: Any) -> None:
    def written() -> str:
        shuffled = [random.sample(group, len(group)) for group in random.sample(groups, len(groups))]
        return " OR ".join("(" + " AND ".join(f"({text})" for text in group) + ")" for group in shuffled)

    assert normalise(parse(written(), SCHEMA), SCHEMA) == normalise(parse(written(), SCHEMA), SCHEMA)


@given(st.lists(any_text, min_size=17, max_size=40))
def test_texts_bound_together_are_bound_as_each_by_itself(many: list[str]) -> None:
    by_row = rows_of(bind(pa.array(many), SCHEMA))
    assert sorted(by_row) == list(range(len(many)))
    for row, text in enumerate(many):
        assert by_row[row] == rows_of(bind([text], SCHEMA))[0], text


@given(st.lists(st.lists(comparisons() | texts(), min_size=1, max_size=4), min_size=90, max_size=120))
@settings(max_examples=cases(15))
def test_texts_of_many_rare_shapes_mean_what_their_trees_mean(many: list[list[str]]) -> None:
    written = [" AND ".join(terms) for terms in many]
    bound = bind(pa.array(written), SCHEMA)
    assert not bound.errors
    filters: dict[int, list[Filter]] = {row: [] for row in range(len(written))}
    for block in (*bound.blocks, *bound.terms):
        for place, row in enumerate(block.rows.tolist()):
            filters[row].append(filled(block, place))
    for row, text in enumerate(written):
        tree = parse(text, SCHEMA)
        assert filters[row], text
        for event in EVENTS[::7]:
            assert all(filter_holds(each, event, SCHEMA) for each in filters[row]) == tree_holds(tree, event, SCHEMA)


def rows_of(bound: Bound) -> dict[int, Filter]:
    """Each row's filter with its values filled in."""
    assert not bound.errors
    return {int(row): filled(block, place) for block in bound.blocks for place, row in enumerate(block.rows)}


def filled(block: Block, place: int) -> Filter:
    """The filter of one row: the template with values for its slots."""

    def value(operand: Any) -> Any:
        if not isinstance(operand, Slot):
            return operand
        column = block.columns[operand.number]
        found = column[place]
        return found.as_py() if isinstance(found, pa.Scalar) else found.item()

    def literal(one: Literal) -> Literal:
        match one:
            case Not(leaf):
                inner = literal(leaf)
                assert not isinstance(inner, Not)
                return Not(inner)
            case Between():
                return replace(one, low=value(one.low), high=value(one.high))
            case OneOf():
                return replace(one, values=tuple(value(each) for each in one.values))
            case Order():
                return replace(one, value=value(one.value))
            case Like() | RLike():
                return replace(one, pattern=value(one.pattern))
        return one

    return Filter(tuple(tuple(literal(one) for one in conjunct) for conjunct in block.template.conjuncts))
