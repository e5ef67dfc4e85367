"""Patterns that imply each other, against the table of what takes what that the bits stand for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tamis.language.patterns import Wildcard, read_like, write_like
from tamis.language.predicates import Like
from tamis.routing.covering.exact_values import pattern_implies

texts = st.text("ab%_é", max_size=9)


def takes(theirs: list[str | Wildcard], ours: list[str | Wildcard]) -> bool:
    reached = [True] + [False] * len(ours)
    for part in theirs:
        if part is Wildcard.ANY:
            for k in range(len(ours)):
                reached[k + 1] |= reached[k]
            continue
        fits = [own is not Wildcard.ANY if part is Wildcard.ONE else own == part for own in ours]
        reached = [False, *(before and fit for before, fit in zip(reached, fits, strict=False))]
    return reached[-1]


@given(texts, texts)
def test_a_pattern_implies_those_that_take_it_as_a_text(stronger: str, weaker: str) -> None:
    ours = read_like(write_like(read_like(stronger) or [])) or []
    expected = stronger == weaker or takes(read_like(weaker) or [], ours)
    assert pattern_implies(Like("title", stronger), Like("title", weaker)) == expected


def test_long_patterns_are_compared_a_word_at_a_time() -> None:
    long, longer = "%" + "a_" * 250_000 + "%", "%" + "a_" * 250_001 + "b%"
    assert not pattern_implies(Like("title", long), Like("title", "%" + "b_" * 1_000 + "%"))
    assert pattern_implies(Like("title", longer), Like("title", "%" + "_" * 1_000 + "%"))
