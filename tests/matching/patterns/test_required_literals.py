from __future__ import annotations

import doctest

import pytest
import re2
from hypothesis import given, settings

from tamis.matching.patterns import regex_search as module
from tamis.matching.patterns.regex_search import like_program_of, required_literals
from tests.generated import cases
from tests.matching.patterns.reference import regexes, searched_values


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("sofa [0-9]+", ("sofa ",)),
        ("(sofa|armchair)s?", ("sofa", "armchair")),
        ("sofa|armchair", ("sofa", "armchair")),
        ("sofa|[0-9]", ()),
        ("arm.*chairs", ("chairs",)),
        ("arm(chair)?", ("arm",)),
        ("(oak|elm) table", (" table",)),
        ("so+fa", ("ofa",)),
        ("chair+red", ("chair",)),
        ("chairs*", ("chair",)),
        ("chairs{0,3}", ("chair",)),
        ("chairs{2}", ("chairs",)),
        (r"\bchair\b", ("chair",)),
        (r"3\.50 €", ("3.50 €",)),
        (r"[]chair][[:alpha:]]xyz", ("xyz",)),
        (r"chair\x41xyz", ()),
        (r"\Qchair\E", ()),
        ("chair(?s)*", ()),
        ("ab", ()),
        ("", ()),
        ("(?P<wood>oak)(?:table)", ("table",)),
        ("(" * 100 + "chair" + ")" * 100, ()),
    ],
)
def test_the_longest_literal_that_must_occur(pattern: str, literals: tuple[str, ...]) -> None:
    required = required_literals(pattern)
    assert required.literals == literals
    assert not required.lowered


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("(?i)Table", ("table",)),
        ("(?i)Sofa", ("ofa",)),
        ("Oak(?i:Table)", ("table",)),
        ("(?i)Éclair", ("clair",)),
    ],
)
def test_patterns_that_ignore_case_require_lower_case_literals(pattern: str, literals: tuple[str, ...]) -> None:
    required = required_literals(pattern)
    assert required.literals == literals
    assert required.lowered


@settings(max_examples=cases(150))
@given(regexes, searched_values)
def test_a_value_that_matches_has_one_of_the_literals(pattern: str, value: str) -> None:
    required = required_literals(pattern)
    if required.literals and re2.search(pattern, value):
        text = value.lower() if required.lowered else value
        assert any(literal in text for literal in required.literals)


def test_letters_outside_ascii_that_fold_into_it_do_not_close_the_gate() -> None:
    # RE2 takes the Kelvin sign for a k and the long s for an s.
    for value in ("des\u212a lamp", "de\u017fk lamp"):
        assert re2.search("(?i)desk", value)
        assert any(literal in value.lower() for literal in required_literals("(?i)desk lamp").literals)


@pytest.mark.parametrize(
    ("pattern", "program"),
    [
        ("sofa", b"\xffsofa\xff"),
        ("^sofa", b"sofa\xff"),
        ("sofa$", b"\xffsofa"),
        ("^sofa$", b"sofa"),
        ("", b"\xff"),
        ("^", b"\xff"),
        ("^$", b""),
        (r"3\.50", b"\xff3.50\xff"),
        (r"100%_", b"\xff100%_\xff"),
        ("so.a", None),
        ("so+", None),
        (r"sofa\d", None),
        (r"sofa\\", b"\xffsofa\\\xff"),
    ],
)
def test_a_literal_expression_is_a_like(pattern: str, program: bytes | None) -> None:
    assert like_program_of(pattern) == program


def test_the_examples_in_the_docstrings_run() -> None:
    assert doctest.testmod(module) == (0, 2)
