"""Hypothesis strategies for edge values: constants at which matchers go wrong, shared by filters and events.

Filters and events draw from the same small pools, so that generated events hit the constants of generated filters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from hypothesis import strategies as st

from tamis.schema import Domain, EnumeratedDomain, HierarchicalDomain

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

INTEGERS = (
    0,
    1,
    2,
    3,
    5,
    7,
    -1,
    -2,
    2**31,
    -(2**31),
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    INT64_MAX - 1,
    INT64_MAX,
    INT64_MIN,
)
BEYOND_INTEGERS = (2**63, -(2**63) - 1, 10**30, 2**64 + 1)  # literals only: no integer attribute has them
FLOATS = (
    0.0, -0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, -1.0, 0.1, 0.1 + 0.2, 0.3, 5e-324, -5e-324, 1e308, -1e308, 2.0**53,
    2.0**63, -(2.0**63), 2.0**53 + 2,
)  # fmt: skip
INFINITIES = (float("inf"), float("-inf"))  # events only: there is no literal for them
STRINGS = (
    "", "a", "b", "ab", "abc", "abcabc", "A", "Ab", "ba", "a b", "é", "É", "e\u0301", "ß", "SS", "日本",
    "\U0001d4b3", "\uffff", "%", "_", "a%b", "a_b", "\\", "a\\b", "'", "it's", '"', "a\nb", " ", "NULL", "?x",
    "--", "0", "1.5", "TRUE",
)  # fmt: skip
TIMESTAMPS = (
    0, 1, -1, 999_999, 1_000_000, 1_714_557_600_000_000, 1_714_557_600_000_001, 1_714_557_599_999_999,
    86_400_000_000, -62_135_596_800_000_000, 253_402_300_799_999_999,
)  # fmt: skip  # the last two: the first and last microsecond of years 1 to 9999
BINARIES = (b"", b"a", b"\x00", b"\xff\xd8", "é".encode())
LIKE_PATTERNS = (
    "", "%", "_", "%%", "a%", "%a", "%a%", "a%b", "_b%", "%b_", "a_c", "ab", "%bc", "%ca%", "\\%", "a\\%b",
    "a\\_%", "\\\\", "É", "%É%", "日_", "%'%", "a%b%c", "%\n%", "_%", "__", "ss",
)  # fmt: skip
REGULAR_EXPRESSIONS = (
    "", "a", "^a", "b$", "^ab?c*$", "a|b", "[a-c]+", "(?i)ab", "^$", ".", "\\d", "a.b", "(ab)+", "日", "^.{2}$",
    "[^a]", "\\x27", "(?s)a.b", "\\bab\\b",
)  # fmt: skip


@cache
def integers() -> st.SearchStrategy[int]:
    """Integers of an event, mostly from the pool or next to it."""
    near = st.builds(_step, st.sampled_from(INTEGERS), st.integers(-1, 1))
    return st.one_of(st.sampled_from(INTEGERS), near, st.integers(INT64_MIN, INT64_MAX))


def _step(value: int, step: int) -> int:
    return min(max(value + step, INT64_MIN), INT64_MAX)


@cache
def floats() -> st.SearchStrategy[float]:
    """Floats of an event, NaN excepted."""
    return st.one_of(finite_floats(), finite_floats(), finite_floats(), st.sampled_from(INFINITIES))


@cache
def finite_floats() -> st.SearchStrategy[float]:
    """Floats that a literal can be written for."""
    return st.one_of(st.sampled_from(FLOATS), st.floats(allow_nan=False, allow_infinity=False))


@cache
def strings() -> st.SearchStrategy[str]:
    """Strings that Arrow can hold."""
    anything = st.text(st.characters(codec="utf-8"), max_size=3)
    return st.one_of(st.sampled_from(STRINGS), st.sampled_from(STRINGS), st.text("abé%_", max_size=4), anything)


@cache
def timestamps() -> st.SearchStrategy[int]:
    """Microseconds since the epoch, within the years 1 to 9999."""
    return st.one_of(st.sampled_from(TIMESTAMPS), st.integers(TIMESTAMPS[-2], TIMESTAMPS[-1]))


@cache
def binaries() -> st.SearchStrategy[bytes]:
    """Bytes, some of which are no text."""
    return st.one_of(st.sampled_from(BINARIES), st.binary(max_size=4))


@lru_cache(maxsize=1000)
def values(domain: Domain) -> st.SearchStrategy[Any]:
    """Values of a domain, in the language's types: timestamps are microseconds."""
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        return st.sampled_from(domain.values)
    plain: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
        "integer": integers,
        "float": floats,
        "string": strings,
        "boolean": st.booleans,
        "timestamp": timestamps,
        "binary": binaries,
    }
    return plain[domain.kind]()
