"""A world with few values, in which covering is decided by looking at every event there is.

Filters of this world compare with few constants, and of every stretch between constants the world has as many values as
a filter of it can tell apart. So what holds for all its events holds for all events.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from tamis.language import Filter, normalise, parse
from tamis.language.predicates import Literal, Not, attributes_of
from tamis.matching.naive import holds
from tamis.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "domains": {
            "style": {
                "type": "enumerated",
                "values": ["plain", "carved", "gilded", "inlaid"],
                "order": [["plain", "carved"], ["carved", "gilded"], ["carved", "inlaid"]],
            },
            "kind": {"type": "hierarchical", "tree": {"bed": {}, "table": {"desk": {"bureau": {}}}}},
            "colour": {"type": "enumerated", "values": ["red", "blue"]},
        },
        "attributes": {
            "i": "integer", "j": "integer", "n": "integer", "f": "float", "s": "string", "r": "string", "w": "string",
            "b": "boolean", "t": "timestamp", "e": "style", "d": "style", "h": "kind", "k": "kind", "u": "colour",
        },
        "event_types": {
            "one": dict.fromkeys(("i", "j", "f", "s", "r", "b", "t", "e", "d", "h"), "optional"),
            "other": {name: ["optional", "multiple"] for name in ("n", "w", "k", "u")},
        },
    }
)  # fmt: skip

_INTEGERS = [-2, -1, 0, 1, 2, 3, 4, 5, 6]
_STRINGS = ["", "A", "B", "a", "aa", "aab", "ab", "aba", "abb", "ac", "ad", "b", "ba", "bb", "c", "ca"]
_LISTED = {
    "e": ["plain", "carved", "gilded", "inlaid"],
    "h": ["bed", "table", "desk", "bureau"],
    "u": ["red", "blue"],
}
VALUES: dict[str, list[Any]] = {
    "i": _INTEGERS,
    "j": _INTEGERS,
    "n": _INTEGERS,
    "t": _INTEGERS,
    "f": [float("-inf"), -1.0, 0.0, 0.5, 1.0, 1.25, 1.375, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, float("inf")],
    "s": _STRINGS,
    "r": _STRINGS,
    "w": _STRINGS,
    "b": [False, True],
    "e": _LISTED["e"],
    "d": _LISTED["e"],
    "h": _LISTED["h"],
    "k": _LISTED["h"],
    "u": _LISTED["u"],
}
_CONSTANTS = {"i": ["1", "3"], "f": ["1", "1.5", "3.0"], "s": ["'a'", "'ab'", "'b'"], "b": ["TRUE", "FALSE"]}
_CONSTANTS |= {"t": ["'1970-01-01 00:00:00.000001'", "'1970-01-01T00:00:00.000003Z'"]}
_CONSTANTS |= {name: [f"'{value}'" for value in values] for name, values in _LISTED.items()}
_ALIKE = {"j": "i", "n": "i", "r": "s", "w": "s", "d": "e", "k": "h"}
_COMPARABLE = [("i", "j"), ("i", "f"), ("f", "j"), ("i", "n"), ("n", "f"), ("s", "r"), ("s", "w"), ("e", "d")]
_COMPARABLE += [("h", "k"), ("n", "n"), ("w", "w")]
PLAIN = tuple(VALUES)


@st.composite
def conditions(draw: st.DrawFn, names: Sequence[str] = PLAIN, patterns: bool = False) -> str:
    """One comparison of an attribute with constants."""
    name = draw(st.sampled_from(names))
    constant = st.sampled_from(_CONSTANTS[_ALIKE.get(name, name)])
    orders = ["="] if name in "bu" else ["=", "<", "<=", ">", ">="]
    no = draw(st.sampled_from(["", "", "NOT "]))
    forms = ["compare", "compare", "compare", "in", "null"]
    forms += (
        ["between"] * (name not in "bu") + ["prefix"] * (name in "srw") + ["pattern"] * (patterns and name in "srw")
    )
    match draw(st.sampled_from(forms)):
        case "null":
            return f"{name} IS {no}NULL"
        case "in":
            return f"{name} {no}IN ({', '.join(draw(st.lists(constant, min_size=1, max_size=3)))})"
        case "between":
            return f"{name} {no}BETWEEN {draw(constant)} AND {draw(constant)}"
        case "prefix":
            return f"{name} {no}LIKE '{draw(st.sampled_from(['a', 'ab', 'b']))}%'"
        case "pattern":
            if draw(st.booleans()):
                return f"{name} {no}RLIKE '{draw(st.sampled_from(['^a', 'b$', 'a', '(?i)B']))}'"
            word = draw(st.sampled_from(["LIKE", "LIKE", "ILIKE"]))
            return f"{name} {no}{word} '{draw(st.sampled_from(['%b', '%a%', 'a_', '_', 'a%b', '%b%', 'A%', '%B']))}'"
    return f"{no}{name} {draw(st.sampled_from(orders))} {draw(constant)}"


@st.composite
def comparisons_of_two(draw: st.DrawFn, pairs: Sequence[tuple[str, str]] = tuple(_COMPARABLE)) -> str:
    """One comparison of an attribute with another one, or with itself where it has several values."""
    pair = draw(st.permutations(draw(st.sampled_from(pairs))))
    no = draw(st.sampled_from(["", "", "NOT "]))
    return f"{no}{pair[0]} {draw(st.sampled_from(['=', '<', '<=', '>', '>=']))} {pair[1]}"


def normal(text: str) -> Filter:
    return normalise(parse(text, SCHEMA), SCHEMA)


def conjunctions(condition: st.SearchStrategy[str], most: int = 4) -> st.SearchStrategy[str]:
    return st.lists(condition, min_size=1, max_size=most).map(" AND ".join)


@cache
def states(name: str, most: int) -> list[list[Any]]:
    """What an event may have of an attribute: nothing, one value, or up to so many."""
    if not SCHEMA.attributes[name].multiple:
        return [[], *([value] for value in VALUES[name])]
    return [list(some) for size in range(most + 1) for some in combinations(VALUES[name], size)]


def really_covers(a: Filter, b: Filter, most: int = 3) -> bool:
    """Whether every event of the world that matches b matches a."""
    literals = [literal for filter in (a, b) for conjunct in filter.conjuncts for literal in conjunct]
    names = sorted({name for literal in literals for name in attributes_of(literal)})
    ours, theirs = (_truth(filter, names, most) for filter in (a, b))
    return not (theirs & ~ours).any()


def _truth(filter: Filter, names: list[str], most: int) -> npt.NDArray[np.bool_]:
    """Of every event whether it matches: an axis an attribute."""
    shape = [len(states(name, most)) for name in names]
    truth = np.zeros(shape, np.bool_)
    for conjunct in filter.conjuncts:
        found = np.ones(shape, np.bool_)
        for literal in conjunct:
            found &= _literal_truth(literal, names, most)
        truth |= found
    return truth


def _literal_truth(literal: Literal, names: list[str], most: int) -> npt.NDArray[np.bool_]:
    about = sorted(set(attributes_of(literal)))
    table = _table(literal, tuple(about), most)
    shape = [len(states(name, most)) if name in about else 1 for name in names]
    return table.reshape(shape)


@cache
def _table(literal: Literal, names: tuple[str, ...], most: int) -> npt.NDArray[np.bool_]:
    leaf, negated = (literal.leaf, True) if isinstance(literal, Not) else (literal, False)
    if len(names) == 1:
        return np.array([holds(leaf, {names[0]: state}, SCHEMA, negated) for state in states(names[0], most)])
    first, second = names
    return np.array(
        [
            [holds(leaf, {first: one, second: other}, SCHEMA, negated) for other in states(second, most)]
            for one in states(first, most)
        ]
    )
