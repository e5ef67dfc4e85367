from __future__ import annotations

from unittest.mock import patch

import pyarrow as pa
import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from tamis.matching.patterns import regex_search
from tamis.matching.patterns.regex_set import RegexSet
from tests.matching.patterns.reference import regexes, searched_values


def found(patterns: RegexSet, values: list[str | None]) -> list[list[int]]:
    hits = patterns.match(pa.array(values, pa.string()))
    return [hits.numbers[hits.offsets[r] : hits.offsets[r + 1]].tolist() for r in range(len(values))]


@given(st.lists(regexes, max_size=6), st.lists(st.none() | searched_values, max_size=6))
def test_finds_what_each_pattern_finds_alone(patterns: list[str], values: list[str | None]) -> None:
    wanted = [
        [number for number, pattern in enumerate(patterns) if value is not None and re2.search(pattern, value)]
        for value in values
    ]
    built = RegexSet.build(patterns)
    assert found(built, values) == wanted
    assert found(built, values) == wanted, "the second time from memory"
    assert found(RegexSet.from_arrays(patterns, built.arrays()), values) == wanted


def test_a_pattern_is_run_only_where_its_literal_occurs() -> None:
    patterns = RegexSet.build([f"lot{number}[a-z]* [0-9]+" for number in range(100, 1_000)])
    hits = patterns.match(pa.array(["lot123abc 4", "lot999", "nothing", "lot555xyz"]))
    assert hits.numbers.tolist() == [23]
    assert hits.programs_run == 3


def test_a_value_is_searched_once_however_often_it_comes() -> None:
    patterns = RegexSet.build(["sofa [0-9]+", "(?i)bed [0-9]+"])
    batch = pa.array(["sofa 1", "BED 2"] * 50)
    assert patterns.match(batch).programs_run == 2
    assert patterns.match(batch).programs_run == 0


def test_patterns_behind_a_crowded_literal_run_together() -> None:
    patterns = RegexSet.build([f"https?://[a-z]+/{number}$" for number in range(200)])
    hits = patterns.match(pa.array(["http://example/7", "https://example/77", "ftp://example/7"]))
    assert hits.numbers.tolist() == [7, 77]
    assert hits.programs_run == 0


def test_sets_that_re2_has_no_memory_for_are_cut_smaller() -> None:
    texts = [f"[a-z]{{{number}}}x[0-9]{{{number}}}" for number in range(1, 60)]
    value = "abcde" * 12 + "x" + "12345" * 12
    with patch.object(regex_search, "_SET_MEMORY", 1 << 16):
        patterns = RegexSet.build(texts)
        hits = patterns.match(pa.array([value]))
        together = patterns._compiled_together()
    assert len(together.sets) > 1
    assert hits.numbers.tolist() == [number for number, text in enumerate(texts) if re2.search(text, value)]


def test_a_pattern_too_large_for_any_set_runs_alone() -> None:
    with patch.object(regex_search, "_SET_MEMORY", 1 << 12), patch.object(regex_search, "_ALONE_MEMORY", 1 << 12):
        patterns = RegexSet.build(["[a-z]{50}[0-9]", "[0-9]x"])
        hits = patterns.match(pa.array(["a" * 50 + "1x"]))
        assert hits.numbers.tolist() == [0, 1]
        assert hits.programs_run >= 1


def test_an_unreadable_pattern_is_an_error_of_re2() -> None:
    with pytest.raises(re2.error):
        RegexSet.build(["(["]).match(pa.array(["a"]))
