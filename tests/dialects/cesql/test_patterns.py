"""LIKE patterns of CESQL against an expression that tries every way."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tamis.dialects.cesql.syntax import compiled, matches

_PART = re.compile(r"(\\[%_])|(.)", re.DOTALL)


def plain(pattern: str) -> re.Pattern[str]:
    wild = {"%": ".*", "_": "."}
    parts = [re.escape(escaped[1:]) if escaped else wild.get(c, re.escape(c)) for escaped, c in _PART.findall(pattern)]
    return re.compile("".join(parts), re.DOTALL)


@given(st.text("ab%_\\é", max_size=9), st.text("ab%_\\é\U0001f600\n", max_size=9))
def test_a_pattern_matches_what_some_way_to_read_it_does(pattern: str, value: str) -> None:
    assert matches(pattern, value) == (plain(pattern).fullmatch(value) is not None)


def test_the_steps_for_a_long_piece_with_wildcards_are_few_for_each_character() -> None:
    value = ("a" * 997 + "cab") * 1_000
    for number in range(20):
        found, steps = compiled("%" + "a_" * (430 + number) + "b_%").match(value)
        assert not found
        assert steps < 40 * len(value)
