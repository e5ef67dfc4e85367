"""Calls and constraints: refused with their place, canonical whatever the names, bound by shape as they are alone."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import FilterError, FilterTooComplex
from tamis.language import CalledFilter, Filter, Limits, bind, normal_form, parse, print_filter
from tamis.language.call_rewrites import Case
from tamis.language.calls import Call, Constraint, Moment, Variable, part_key, parts_of, with_parts
from tamis.language.predicates import Between, Slot
from tamis.language.shapes import CalledBlock
from tests.language.auction import SCHEMA
from tests.language.calls import OPERATORS


def form(text: str) -> Filter | CalledFilter:
    return normal_form(parse(text, SCHEMA, operators=OPERATORS), SCHEMA, text=text)


def canonical(text: str) -> str:
    return print_filter(form(text), SCHEMA)


# In each text the part at fault is between ‹ and ›.
REFUSED = [
    ("‹loc_inn›('Bronx')", "there is no operator loc_inn; did you mean loc_in?"),
    ("‹upper›(title) = 'A'", "there is no operator upper; there are distance, lit"),
    ("‹loc_in›()", "loc_in takes 1 arguments and is given 0; write loc_in(place: string)"),
    ("‹loc_in('a', 'b'›)", "loc_in takes 1 arguments and is given 2"),
    ("‹within›()", "within takes 1 to 2 arguments"),
    ("loc_in(‹7›)", "place is string and this is a number"),
    ("loc_in(‹NULL›)", "place cannot be NULL"),
    ("mob(‹2.5›)", "people is a whole number"),
    ("mob(‹99999999999999999999›)", "people is beyond 64 bits"),
    ("traffic(‹'congested'›)", "did you mean 'congestion'?"),
    ("seen(‹'soon'›)", "'soon' is no timestamp"),
    ("loc_in(‹title›)", "what it reads of the event is not written"),
    ("loc_in(‹?x›)", "no variable can stand for place"),
    ("words('a', ‹?x›)", "no variable can stand for word"),
    ("mob(?n) AND owner(‹?n›)", "?n is a number in mob and a string in owner; use two names"),
    ("mob(?n) AND ‹?n = 'a'›", "a number cannot be compared with a string"),
    ("mob(?n) AND ‹?n = title›", "a number cannot be compared with a string"),
    ("owner(?o) AND ?o = ‹period› AND ‹?o < period›", "by = and != only"),
    ("owner(?o) AND 2 * ‹?o› > 3", "arithmetic needs numbers, and this is a string"),
    ("mob(?n) AND ?n + ‹sizes› > 3", "sizes has several values, and arithmetic needs one"),
    ("mob(?n) AND ‹sizes BETWEEN 1 AND ?n›", "sizes has several values"),
    ("mob(?n) AND ‹?n› LIKE 'a%'", "?n is a variable; compare it by"),
    ("mob(?n) AND ‹?n›", "a condition is expected here"),
    ("mob(?n) AND ?n IN (1, ‹?n›)", "IN takes values"),
    ("mob(?n) AND ?n = ‹NULL›", "a variable is always bound"),
    ("‹mob(?n›) = 3", "a condition cannot be compared"),
    ("price > 3 AND ‹?n› > 5", "?n is a variable of an operator, and this filter calls none"),
    ("loc_in('a') AND ‹?n› > 5", "nothing binds ?n here"),
    ("(mob(?n) OR sold) AND ‹?m› > 5", "nothing binds ?m here"),
    ("(mob(‹?n›) OR sold) AND ?n > 5", "nothing binds ?n here"),
    ("NOT mob(‹?n›) AND ?n > 5", "?n stands in a negated call, which binds nothing"),
    ("NOT mob(‹?n›) AND pair(?n, ?m)", "?n stands in a negated call"),
    ("NOT mob(‹?n›) AND NOT pair(?n, ?m)", "?n stands in a negated call"),
    ("loc_in('a'", "never closed"),
    ("loc_in('a' ‹'b'›)", "expected AND, OR or an operator before 'b'"),
    ("loc_in('a',‹)›", "expected a value after ','"),
]


@pytest.mark.parametrize(("marked", "message"), REFUSED)
def test_what_is_wrong_is_said_with_its_place(marked: str, message: str) -> None:
    text = marked.replace("‹", "").replace("›", "")
    with pytest.raises(FilterError) as caught:
        form(text)
    assert message in caught.value.message
    if "‹" in marked:
        start = marked.rindex("‹") - 2 * (marked.count("‹") - 1)
        assert (caught.value.start, caught.value.text[caught.value.start : caught.value.end]) == (
            start,
            marked[marked.rindex("‹") + 1 : marked.rindex("›")],
        )


def test_without_operators_a_call_is_no_filter() -> None:
    with pytest.raises(FilterError, match="there is no function loc_in"):
        parse("loc_in('a')", SCHEMA)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("price < 10 AND loc_in('Bronx') AND mob(?people) AND ?people > 50",
         "price < 10 AND loc_in('Bronx') AND mob(?x1) AND ?x1 > 50"),
        ("mob(?n) AND ?n BETWEEN 2 AND 2*4", "mob(?x1) AND ?x1 <= 8 AND ?x1 >= 2"),
        ("mob(?n) AND ?n NOT BETWEEN 2 AND 8", "(mob(?x1) AND ?x1 < 2) OR (mob(?x2) AND ?x2 > 8)"),
        ("mob(?n) AND ?n - (bids - 3) * -2 > 1.0", "mob(?x1) AND ?x1 - (bids - 3) * -2 > 1"),
        ("mob(?n) AND (?n - bids) - 3 > 1", "mob(?x1) AND ?x1 - bids - 3 > 1"),
        ("seen(?t) AND ?t >= '2024-05-01' AND ?t < closed",
         "seen(?x1) AND ?x1 >= '2024-05-01' AND ?x1 < closed"),
        ("seen(TIMESTAMP '2024-05-01')", "seen(TIMESTAMP '2024-05-01')"),
        ("owner(?o) AND tags CONTAINS ?o", "owner(?x1) AND ?x1 = tags"),
        ("mob(?n) OR owner(?n2) OR pair(?a, 'b')", "mob(?x1) OR owner(?x2) OR pair(?x3, 'b')"),
        ("pair(1, TRUE) AND pair(TRUE, 1) AND pair(1.0, 1)",
         "pair(TRUE, 1) AND pair(1, TRUE) AND pair(1, 1)"),
        ("mob(?a) OR mob(?b)", "mob(?x1)"),
        ("mob(?a) AND sold OR mob(?b) AND ?b > 3 OR price > 3 AND mob(?c)",
         "((price > 3 OR sold = TRUE) AND mob(?x1)) OR (mob(?x2) AND ?x2 > 3)"),
        ("NOT (mob(?n) OR loc_in('a'))", "NOT loc_in('a') AND NOT mob(?x1)"),
    ],
)  # fmt: skip
def test_the_canonical_text_says_the_same_in_one_way(text: str, wanted: str) -> None:
    if "'2024-05-01' AND" in text:
        wanted = wanted.replace("'2024", "TIMESTAMP '2024")
    found = canonical(text)
    assert sorted(found.split()) == sorted(wanted.split())
    assert form(found) == form(text)
    assert canonical(found) == found


NAMES = ("a", "b", "c", "d")


@st.composite
def conjunctions(draw: st.DrawFn) -> list[str]:
    """Calls and constraints over a few variables, all of which some call binds."""
    name = st.sampled_from(NAMES).map("?{}".format)
    calls = [f"pair({draw(name)}, {draw(name)})" for _ in range(draw(st.integers(1, 4)))]
    calls += [f"mob({draw(name)})" for _ in range(draw(st.integers(0, 2)))]
    bound = [f"?{name}" for name in NAMES if any(f"?{name}" in call for call in calls)]
    some = st.sampled_from(bound)
    sign = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))
    side = st.one_of(some, st.builds("{} {} {}".format, some, st.sampled_from("+-*/"), some), st.just("3"))
    constraints = [f"{draw(some)} {draw(sign)} {draw(side)}" for _ in range(draw(st.integers(0, 3)))]
    return [*calls, *constraints]


@given(conjunctions(), st.permutations(NAMES), st.randoms(use_true_random=False))
def test_the_canonical_form_depends_neither_on_names_nor_on_order(
    parts: list[str], renamed: list[str], random: Any
) -> None:
    text = " AND ".join(parts)
    first = canonical(text)
    assert canonical(first) == first
    shuffled = random.sample(parts, len(parts))
    other = " AND ".join(shuffled)
    for old, new in zip(NAMES, renamed, strict=True):
        other = other.replace(f"?{old}", f"?_{new}")
    second = canonical(other)
    # Where the structure alone tells the variables apart, the text is the same; it always says the same.
    assert len(first) == len(second)
    assert _isomorphic(form(first), form(second))


def _isomorphic(ours: Filter | CalledFilter, theirs: Filter | CalledFilter) -> bool:
    assert isinstance(ours, CalledFilter)
    assert isinstance(theirs, CalledFilter)
    (left,), (right,) = ours.cases, theirs.cases
    names = sorted({part.name for leaf in left.called for part in _variables(leaf)})

    def unordered(called: Any) -> set[Any]:
        return {_sideless(leaf) for leaf in called}

    return any(
        unordered(_renamed(leaf, dict(zip(names, some, strict=True))) for leaf in left.called)
        == unordered(right.called)
        for some in permutations(names)
    )


def _variables(leaf: Call | Constraint) -> list[Variable]:
    return [part for part in parts_of(leaf) if isinstance(part, Variable)]


def _renamed(leaf: Call | Constraint, names: dict[str, str]) -> Call | Constraint:
    return with_parts(leaf, lambda part: Variable(names[part.name]) if isinstance(part, Variable) else part)


def _sideless(leaf: Call | Constraint) -> Any:
    if isinstance(leaf, Constraint) and leaf.operator in ("=", "!="):
        sides: list[Any] = [leaf.left, leaf.right]
        return (leaf.operator, frozenset(map(part_key, sides)))
    return leaf


def filled(block: CalledBlock, place: int) -> CalledFilter:
    """The filter of one row of a block."""

    def value(part: Any) -> Any:
        if isinstance(part, Moment):
            return Moment(value(part.microseconds))
        if not isinstance(part, Slot):
            return part
        column = block.columns[part.number]
        return column[place].as_py() if isinstance(column, pa.Array) else column[place].item()

    def plain(literal: Any) -> Any:
        if isinstance(literal, Between):
            return Between(literal.attribute, value(literal.low), value(literal.high))
        return literal

    return CalledFilter(
        tuple(
            Case(
                tuple(tuple(map(plain, conjunct)) for conjunct in case.guard),
                tuple(with_parts(leaf, value) for leaf in case.called),
            )
            for case in block.template.cases
        )
    )


TEXTS = [
    "loc_in('{s}') AND mob(?n) AND ?n > {i}",
    "distance('{s}', ?d) AND ?d <= {f} AND bids >= {i}",
    "distance('{s}', {i}) OR within('{s}', {f})",
    "pair({i}, ?b) AND ?b IN ('{s}', 'x')",
    "pair(-{f}, '{s}') AND NOT words('{s}', 'a')",
    "seen(?t) AND ?t > TIMESTAMP '2024-05-0{d}' AND seen('2024-05-0{d}')",
    "mob(?n) AND mob(?m) AND ?n > {i} * ?m - {f}",
    "traffic('accident') AND lit(TRUE) AND bids = {i}",
    "traffic('{s}')",
    "mob({f})",
    "mob(99999999999999999999)",
    "price > {f}",
]


@given(st.lists(st.tuples(st.sampled_from(TEXTS), st.integers(0, 9), st.integers(1, 4)), min_size=17, max_size=40))
def test_texts_bound_together_are_what_each_is_alone(drawn: list[tuple[str, int, int]]) -> None:
    texts = [text.format(s="abcdefghij"[i], i=i, f=i + 0.5, d=d) for text, i, d in drawn]
    bound = bind(texts, SCHEMA, operators=OPERATORS)
    met = [row for block in bound.called for row in block.rows.tolist()]
    met += [row for block in [*bound.blocks] for row in block.rows.tolist()]
    assert sorted(met + [row for row, _ in bound.errors]) == list(range(len(texts)))
    for block in bound.called:
        for place, row in enumerate(block.rows.tolist()):
            alone = form(texts[row])
            assert isinstance(alone, CalledFilter)
            assert set(filled(block, place).cases) == set(alone.cases)
    for row, error in bound.errors:
        with pytest.raises(FilterError) as caught:
            form(texts[row])
        assert str(caught.value) == str(error)


def test_texts_of_one_shape_are_parsed_once() -> None:
    texts = [f"loc_in('{name}') AND mob(?n) AND ?n > {number}" for number, name in enumerate("abcdefghijklmnopqrst")]
    bound = bind(texts, SCHEMA, operators=OPERATORS)
    assert [len(block.rows) for block in bound.called] == [20]
    assert not bound.blocks
    assert [np.asarray(column).tolist()[:3] for column in bound.called[0].columns] == [["a", "b", "c"], [0, 1, 2]]


def test_rare_shapes_are_not_cut_into_terms_where_they_call() -> None:
    texts = [" AND ".join(["loc_in('a')", *[f"bids > {i}"] * i, f"mob(?x{i})", f"?x{i} > 3"]) for i in range(100)]
    bound = bind(texts, SCHEMA, operators=OPERATORS)
    assert sum(len(block.rows) for block in bound.called) == 100
    assert not bound.terms


def test_what_becomes_too_large_is_refused() -> None:
    text = " AND ".join(f"(loc_in('{i}') OR loc_in('x{i}'))" for i in range(12))
    with pytest.raises(FilterTooComplex, match="alternatives or more"):
        form(text)
    assert len(form(text[: text.index(" AND (loc_in('8')")]).cases) == 256  # type: ignore[union-attr]
    with pytest.raises(FilterTooComplex):
        normal_form(parse(text, SCHEMA, operators=OPERATORS), SCHEMA, Limits(conjuncts=10))
