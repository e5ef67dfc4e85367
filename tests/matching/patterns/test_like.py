from __future__ import annotations

import doctest

import pytest
from hypothesis import given

from tamis.matching.patterns import like, literal_of, prefix_of
from tamis.matching.patterns.like import is_one_key, keys_of, program_of
from tests.matching.patterns.reference import like_regex, like_texts, values


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("abc%", "abc"),
        ("%", ""),
        ("abc%%", "abc"),
        (r"50\% off%", "50% off"),
        (r"a\_b%", "a_b"),
        ("é%", "é"),
        ("abc", None),
        ("a_c%", None),
        ("%abc%", None),
        (r"abc\%", None),
        ("abc%_", None),
        ("", None),
    ],
)
def test_a_prefix_is_a_literal_and_then_a_percent_sign(pattern: str, prefix: str | None) -> None:
    assert prefix_of(pattern) == prefix


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [("abc", "abc"), ("", ""), (r"50\%", "50%"), (r"a\\b", r"a\b"), ("a%", None), ("_", None), ("a\\", "a\\")],
)
def test_a_literal_has_no_wildcard(pattern: str, literal: str | None) -> None:
    assert literal_of(pattern) == literal


@given(like_texts, values)
def test_prefix_and_literal_mean_what_the_pattern_means(pattern: str, value: str) -> None:
    prefix, literal = prefix_of(pattern), literal_of(pattern)
    assert prefix is None or literal is None
    holds = like_regex(pattern).fullmatch(value) is not None
    if prefix is not None:
        assert value.startswith(prefix) == holds
    if literal is not None:
        assert (value == literal) == holds


def test_equal_runs_of_wildcards_give_equal_programs() -> None:
    assert program_of("a%_%_b") == program_of("a__%%b") == b"a\xfe\xfe\xffb"


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        ("abc", [b"\xfeabc\xff"]),
        ("", [b"\xfe\xff"]),
        ("abc%", [b"\xfeabc"]),
        ("%abc", [b"abc\xff"]),
        ("%abc%", [b"abc"]),
        ("a%b_c%d", [b"\xfea", b"b", b"c", b"d\xff"]),
        ("_a_", [b"a"]),
        ("%_%", []),
    ],
)
def test_anchors_are_part_of_the_keys(pattern: str, keys: list[bytes]) -> None:
    assert keys_of(program_of(pattern)) == keys


@pytest.mark.parametrize(("pattern", "decides"), [("abc", True), ("%abc%", True), ("%abc_", False), ("a%c", False)])
def test_only_a_plain_literal_is_decided_by_its_key(pattern: str, decides: bool) -> None:
    assert is_one_key(program_of(pattern)) is decides


def test_the_examples_in_the_docstrings_run() -> None:
    assert doctest.testmod(like) == (0, 3)
