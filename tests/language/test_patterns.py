"""LIKE patterns take time in proportion to pattern and value, whoever wrote them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.language import DEFAULT_LIMITS, normalise, parse
from tamis.language.patterns import like_matches, read_like
from tamis.matching.explanation import explain
from tamis.schema import Schema

SCHEMA = Schema.from_dict({"attributes": {"title": "string"}, "event_types": {"lot": {"title": "optional"}}})
LONG = "a" * 5_000
NASTY = ["%a" * 20 + "%b", "%a_" * 20 + "b", "%" * 500 + "b", "a%a%a%ab"]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("pattern", NASTY)
def test_a_pattern_cannot_be_made_to_try_every_way(pattern: str) -> None:
    assert not like_matches(pattern, False, LONG)
    assert not explain(f"title LIKE '{pattern}'", {"title": LONG}, SCHEMA).matched
    text = f"title = '{LONG}' AND title ILIKE '{pattern}'"
    assert normalise(parse(text, SCHEMA), SCHEMA, DEFAULT_LIMITS, text).conjuncts == ()


@given(st.text("ab%_\\", max_size=8), st.text("ab%\n", max_size=8))
def test_the_leftmost_place_is_as_good_as_any(pattern: str, value: str) -> None:
    parts = read_like(pattern)
    if parts is None:
        return
    plain = "".join(
        {"ANY": ".*", "ONE": "."}[part.name] if not isinstance(part, str) else re.escape(part) for part in parts
    )
    assert like_matches(pattern, False, value) == (re.fullmatch(plain, value, re.DOTALL) is not None)
