"""What the patterns mean, in plain Python: the yardstick of these tests."""

from __future__ import annotations

import re

import pyarrow as pa
import re2
from hypothesis import strategies as st

from tamis.language.predicates import Like, RLike
from tamis.matching.patterns import PatternSet


def like_regex(pattern: str) -> re.Pattern[str]:
    """A LIKE pattern as a regular expression that must match the whole value."""
    pieces: list[str] = []
    escaped = False
    for character in pattern:
        if escaped:
            pieces.append(re.escape(character))
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            pieces.append({"%": ".*", "_": "."}.get(character, re.escape(character)))
    return re.compile("".join(pieces) + (r"\\" if escaped else ""), re.DOTALL)


def holds(pattern: Like | RLike, value: str) -> bool:
    text = str(pattern.pattern)
    if isinstance(pattern, RLike):
        return re2.search(text, value) is not None
    if pattern.ignore_case:
        return like_regex(text.lower()).fullmatch(value.lower()) is not None
    return like_regex(text).fullmatch(value) is not None


def expected(patterns: list[Like | RLike], values: list[str | None]) -> list[list[int]]:
    return [
        [number for number, pattern in enumerate(patterns) if value is not None and holds(pattern, value)]
        for value in values
    ]


def matched(pattern_set: PatternSet, values: pa.Array) -> list[list[int]]:
    offsets, numbers = pattern_set.match(values)
    assert len(offsets) == len(values) + 1
    assert offsets[0] == 0
    assert offsets[-1] == len(numbers)
    return [numbers[offsets[row] : offsets[row + 1]].tolist() for row in range(len(values))]


# Few letters, so that patterns and values meet; of one, two, three and four bytes, some of which share bytes.
_LETTERS = "abAB\0\n é\u0129İΣσ\u20ac\U0001f600"
values = st.one_of(st.text(_LETTERS, max_size=12), st.text("ab", max_size=20))
like_texts = st.one_of(st.text(_LETTERS + "%%%__\\", max_size=10), st.text("ab%_", max_size=8))
likes = st.builds(Like, st.just("title"), like_texts, st.booleans())

_LITERAL_ATOMS = ["a", "b", "ab", "aba", "A", "é", "s", "k", r"\.", r"\n", r"\x61", r"\Qa.b\E", "a{02}", "{,2}"]
_OTHER_ATOMS = [
    ".",
    "^",
    "$",
    r"\bab",
    r"\d",
    r"\pL",
    r"\p{Greek}",
    "[ab]",
    "[^]a]",
    "[[:alpha:]a]",
    "(?i)",
    "(?i:aba)",
]
_atoms = st.sampled_from([*_LITERAL_ATOMS, *_OTHER_ATOMS])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(st.sampled_from(["({})", "(?:{})", "(?P<n>{})", "(?i:{})", "(?s-i:{})"]), inner).map(
            lambda pair: pair[0].replace("{}", pair[1])
        ),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?"])).map(
            "({0[0]}){0[1]}".format
        ),
        st.tuples(
            st.sampled_from(["a", "b", "k", "é", "(?s)"]),
            st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "??"]),
        ).map("".join),
    )


def _is_valid(pattern: str) -> bool:
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error:
        return False
    return True


regexes = st.recursive(_atoms, _larger, max_leaves=8).filter(_is_valid)
searched_values = st.one_of(values, st.text("abksAKS.\n\u212a\u017fé{,2}", max_size=12))
