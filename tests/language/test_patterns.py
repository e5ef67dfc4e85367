"""LIKE patterns take time in proportion to pattern and value, whoever wrote them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.language import DEFAULT_LIMITS, normalise, parse, patterns
from tamis.language.patterns import LikePattern, like_matches, like_pattern, read_like
from tamis.matching.explanation import explain
from tamis.schema import Schema

SCHEMA = Schema.from_dict({"attributes": {"title": "string"}, "event_types": {"lot": {"title": "optional"}}})
LONG = "a" * 5_000
PIECE = "a_" * 450 + "b_"
TILED = ("a" * 997 + "cab") * 1_000
NASTY = ["%a" * 20 + "%b", "%a_" * 20 + "b", "%" * 500 + "b", "a%a%a%ab"]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("pattern", NASTY)
def test_a_pattern_cannot_be_made_to_try_every_way(pattern: str) -> None:
    assert not like_matches(pattern, False, LONG)
    assert not explain(f"title LIKE '{pattern}'", {"title": LONG}, SCHEMA).matched
    text = f"title = '{LONG}' AND title ILIKE '{pattern}'"
    assert normalise(parse(text, SCHEMA), SCHEMA, DEFAULT_LIMITS, text).conjuncts == ()


@pytest.mark.parametrize("pattern", [f"%{PIECE}c%", f"a%{PIECE}%{PIECE}%a", f"%{PIECE}%", "%a_b%_ba%" + PIECE])
def test_the_steps_for_a_long_piece_with_wildcards_are_few_for_each_character(pattern: str) -> None:
    for value in (TILED, "a" * 1_000_000, "ab" * 500_000):
        _, steps = like_pattern(pattern, False).match(value)
        assert steps < 40 * len(value)


def test_twice_the_value_takes_no_more_than_twice_the_steps() -> None:
    pattern = like_pattern(f"%{PIECE}c%", False)
    once, twice = pattern.match(TILED)[1], pattern.match(TILED * 2)[1]
    assert once < twice < 2.1 * once


def plain(pattern: str) -> re.Pattern[str] | None:
    """The pattern as an expression that tries every way; None if it ends within an escape."""
    parts = read_like(pattern)
    if parts is None:
        return None
    wild = {"ANY": ".*", "ONE": "."}
    return re.compile("".join(re.escape(p) if isinstance(p, str) else wild[p.name] for p in parts), re.DOTALL)


PATTERNS = st.text("aB%_\\é€", max_size=8) | st.text("ab%_\\", max_size=8)
VALUES = st.text("aAbB%\né€\U0001f600", max_size=8) | st.text("ab%\n", max_size=8)


@given(PATTERNS, VALUES, st.booleans())
def test_the_leftmost_place_is_as_good_as_any(pattern: str, value: str, ignore_case: bool) -> None:
    tried = plain(pattern.lower() if ignore_case else pattern)
    if tried is not None:
        seen = value.lower() if ignore_case else value
        assert like_matches(pattern, ignore_case, value) == (tried.fullmatch(seen) is not None)


@given(PATTERNS, VALUES, st.integers(1, 9))
def test_places_taken_in_blocks_are_those_found_one_by_one(pattern: str, value: str, block: int) -> None:
    tried = plain(pattern)
    if tried is not None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(patterns, "_NEAR", 0)
            patched.setattr(patterns, "_BLOCK", block)
            assert LikePattern(read_like(pattern) or []).matches(value) == (tried.fullmatch(value) is not None)


def test_a_find_far_into_a_value_is_a_find() -> None:
    value = "a" * 400_000 + "b\U0001f600d" + "a" * 400_000
    assert like_matches("%a_b_d%", False, value)
    assert like_matches("%a_b_d_a%", False, value)
    assert not like_matches("%a_d_b%", False, value)
    assert not like_matches("%a_b_d_a%b", False, value)
    assert not like_matches("%a_b_d%b_d%", False, value)
