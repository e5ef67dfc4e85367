"""Filters that are too large are refused by name of the size; large ones below the limits just work."""

from __future__ import annotations

import pytest

import tamis
from tamis.errors import FilterTooComplex, PatternError
from tamis.language import Filter, Limits, normalise, parse, print_filter
from tests.language.auction import SCHEMA


def normalised(text: str, limits: Limits | None = None) -> Filter:
    limits = limits or Limits()
    return normalise(parse(text, SCHEMA, limits), SCHEMA, limits, text)


@pytest.mark.parametrize("depth", [41, 1_000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("NOT ", ""), ("NOT (", ")"), ("bids = -", "")])
def test_deep_nesting_is_refused(depth: int, opening: str, closing: str) -> None:
    text = opening * depth + "sold" + closing * depth if "=" not in opening else "bids = " + "- " * depth + "1"
    with pytest.raises(FilterTooComplex, match=r"nested|characters"):
        parse(text, SCHEMA)


@pytest.mark.parametrize(
    "prefix", ["(" * 39 + "bids = 1" + ")" * 39, "NOT " * 38 + "bids = 1", "bids = " + "- " * 38 + "1"]
)
def test_nesting_up_to_the_limit_works(prefix: str) -> None:
    assert print_filter(normalised(prefix), SCHEMA) == "bids = 1"


def test_a_sum_of_ten_thousand_numbers_works() -> None:
    text = "bids = " + " + ".join(["1"] * 10_000)
    assert print_filter(normalised(text), SCHEMA) == "bids = 10000"


def test_an_and_of_ten_thousand_terms_works() -> None:
    text = " AND ".join(f"bids != {3 * number}" for number in range(10_000))
    (conjunct,) = normalised(text).conjuncts
    assert len(conjunct) == 1


def test_ten_thousand_conditions_on_several_values_work() -> None:
    text = " AND ".join(f"tags > 'a{number}'" for number in range(10_000))
    (conjunct,) = normalised(text).conjuncts
    assert len(conjunct) == 10_000


def test_an_or_of_ten_thousand_equalities_is_one_list() -> None:
    text = " OR ".join(f"bids = {3 * number}" for number in range(10_000))
    assert len(normalised(text).conjuncts) == 1


def test_an_or_of_too_many_alternatives_is_refused_with_their_number() -> None:
    text = " OR ".join(f"title LIKE 'a{number}%'" for number in range(10_000))
    with pytest.raises(FilterTooComplex, match=r"10,000 alternatives .* at most 2,000 .* split it at an OR") as caught:
        normalised(text)
    assert (caught.value.start, caught.value.end) == (0, len(text))


def test_two_thousand_alternatives_work_whatever_they_say() -> None:
    alternatives = [f"title LIKE 'a{number}%' AND bids > {number} AND price < {number}" for number in range(2_000)]
    assert len(normalised(" OR ".join(alternatives)).conjuncts) == 2_000


def test_a_filter_that_stays_small_by_very_many_steps_is_refused() -> None:
    listed = ", ".join(str(3 * number) for number in range(5_000))
    cut = " OR ".join(f"(title LIKE 'a{number}%' AND bids > {number})" for number in range(200))
    with pytest.raises(FilterTooComplex, match=r"comparisons and listed values .* at most 250,000 are taken"):
        normalised(f"bids IN ({listed}) AND ({cut})")


def test_a_long_list_beside_many_alternatives_is_looked_at_once() -> None:
    listed = ", ".join(str(3 * number) for number in range(5_000))
    alternatives = " OR ".join(f"title LIKE 'a{number}%'" for number in range(200))
    assert len(normalised(f"bids IN ({listed}) AND ({alternatives})").conjuncts) == 200


def test_ors_that_multiply_are_refused_but_lists_do_not_multiply() -> None:
    wild = " AND ".join(f"(tags LIKE 'b{number}%' OR title LIKE 'a{number}%')" for number in range(40))
    with pytest.raises(FilterTooComplex, match="multiplied out"):
        normalised(wild)
    listed = " AND ".join(
        "(" + " OR ".join(f"{name} = {7 * number}" for number in range(300)) + ")" for name in ("bids", "quantity")
    )
    assert len(normalised(listed).conjuncts) == 1


def test_too_long_a_text_is_refused_before_it_is_read() -> None:
    with pytest.raises(FilterTooComplex, match="600,004 characters"):
        parse("sold AND " * 66_667 + "x", SCHEMA)


def test_too_many_comparisons_are_refused() -> None:
    with pytest.raises(FilterTooComplex, match="more than 20,000 comparisons"):
        parse(" AND ".join(["bids > 1"] * 20_001), SCHEMA)


def test_a_long_list_of_values_is_one_comparison() -> None:
    text = "title IN (" + ", ".join(f"'v{number}'" for number in range(30_000)) + ")"
    assert len(normalised(text).conjuncts[0]) == 1


def test_limits_can_be_set() -> None:
    with pytest.raises(FilterTooComplex, match="at most 2 are taken"):
        normalised("title LIKE 'a%' OR title LIKE 'b%' OR title LIKE 'c%'", Limits(conjuncts=2))
    with pytest.raises(FilterTooComplex, match="at most 3 are taken"):
        normalised("sold AND bids = 1 AND quantity = 2 AND price = 3", Limits(literals=3))


def test_the_wildcards_inside_a_pattern_are_counted_and_those_at_its_ends_are_not() -> None:
    limits = Limits(wildcards=3, wildcards_in_all=5)
    parse(r"title LIKE '%%%%a_b%c_d%%%%' OR title LIKE '%desk%' OR title LIKE 'a\_\_\_\_\%b'", SCHEMA, limits)
    with pytest.raises(PatternError, match=r"4 wildcards inside it and at most 3 are taken") as caught:
        parse("title LIKE '%oak%' AND title ILIKE '_a_b%c_'", SCHEMA, limits)
    assert caught.value.start == 35
    with pytest.raises(FilterTooComplex, match=r"6 wildcards inside its LIKE patterns, and at most 5 are taken"):
        parse("title LIKE 'a___' AND title LIKE '___b'", SCHEMA, limits)


def test_a_pattern_of_many_wildcards_is_refused_in_texts_of_one_shape_too() -> None:
    texts = {str(n): f"title LIKE 'a{'_' * n}b'" for n in range(8)}
    refused = tamis.compile(texts, SCHEMA, limits=Limits(wildcards=3)).errors
    assert sorted(id for id, _ in refused) == ["4", "5", "6", "7"]
