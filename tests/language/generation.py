"""Generated filter texts and events over a schema with every kind of attribute, single-valued and many-valued."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from tamis.schema import Schema

KINDS = {
    "i": "integer",
    "f": "float",
    "s": "string",
    "b": "boolean",
    "t": "timestamp",
    "e": "style",
    "h": "category",
    "u": "colour",
}

SCHEMA = Schema.from_dict(
    {
        "domains": {
            "style": {
                "type": "enumerated",
                "values": ["plain", "carved", "gilded", "inlaid", "royal"],
                "order": [["plain", "carved"], ["carved", "gilded"], ["carved", "inlaid"], ["inlaid", "royal"]],
            },
            "category": {"type": "hierarchical", "tree": {"bed": {}, "table": {"desk": {"bureau": {}}, "bench": {}}}},
            "colour": {"type": "enumerated", "values": ["red", "green", "blue"]},
        },
        "attributes": {name + suffix: kind for name, kind in KINDS.items() for suffix in ("1", "2", "m")},
        "event_types": {
            "sale": {name + suffix: "optional" for name in KINDS for suffix in ("1", "2")},
            "offer": {name + "m": ["optional", "multiple"] for name in KINDS},
        },
    }
)

STRINGS = ["", "a", "ab", "abc", "b", "B", "it's", "é", "zz%", "10"]
MOMENTS = {
    "1970-01-01": 0,
    "1970-01-01 00:00:00.000001": 1,
    "1970-01-01T00:00:00.000002Z": 2,
    "1970-01-02T02:00+02:00": 86400 * 10**6,
}
INTEGERS = [0, 1, 2, 3, 4, 5, 7, -1, -2, 2**53 + 1, 2**63 - 1, -(2**63)]
FLOATS = [0.0, 0.5, 1.0, 2.0, 2.5, 3.0, -1.5, 2.0**53, 2.0**53 + 2, 1e300, float("inf"), float("-inf")]

VALUES: dict[str, list[Any]] = {
    "i": INTEGERS,
    "f": FLOATS,
    "s": STRINGS,
    "b": [True, False],
    "t": [*MOMENTS.values(), 3, -1, 2**63 - 1],
    "e": ["plain", "carved", "gilded", "inlaid", "royal"],
    "h": ["bed", "table", "desk", "bureau", "bench"],
    "u": ["red", "green", "blue"],
}

_NUMBERS = ["0", "1", "2", "3", "4", "5", "7", "-1", "- 2", "1.5", "2.0", "2.5", "-1.5", "1e0", "9007199254740993"]
_NUMBERS += [
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "1" + "0" * 330,
    "1 + 1",
    "2 * (3 - 1)",
    "5 / 2",
]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literals(kind: str) -> st.SearchStrategy[str]:
    """Texts of values that an attribute of the kind can be compared with."""
    if kind in "if":
        return st.sampled_from(_NUMBERS)
    if kind == "b":
        return st.sampled_from(["TRUE", "false"])
    if kind == "t":
        return st.sampled_from([*map(_quoted, MOMENTS), *(f"TIMESTAMP {_quoted(moment)}" for moment in MOMENTS)])
    return st.sampled_from(list(map(_quoted, VALUES[kind])))


_ATTRIBUTES = [name for name in SCHEMA.attributes if name != "event_type"]
_PATTERNS = ["a%", "%b", "%", "_", "a_c", "ab", "%%_", "z\\%", "A%", "10", "\\a"]
_EXPRESSIONS = ["^a", "b$", "", "a|é", "(?i)B", "[0-9]+"]


@st.composite
def comparisons(draw: st.DrawFn, names: Sequence[str] = _ATTRIBUTES) -> str:
    """One comparison on one of the attributes."""
    name = draw(st.sampled_from(names))
    kind = name[0]
    form = draw(
        st.sampled_from(["compare", "compare", "between", "in", "null", "versus", "pattern", "pattern", "left"])
    )
    value = literals(kind)
    no = draw(st.sampled_from(["", "", "NOT "]))
    ordered = kind not in "bu"
    operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="] if ordered else ["=", "!=", "<>", "=="])
    match form:
        case "null":
            return f"{name} IS {no}NULL"
        case "versus":
            return f"{name} {draw(operators)} {kind}{draw(st.sampled_from(['1', '2', 'm']))}"
        case "in":
            return f"{name} {no}IN ({', '.join(draw(st.lists(value, min_size=1, max_size=4)))})"
        case "between" if ordered:
            return f"{name} {no}BETWEEN {draw(value)} AND {draw(value)}"
        case "left":
            return f"{draw(value)} {draw(operators)} {name}"
        case "pattern" if kind == "s":
            if draw(st.booleans()):
                return f"{name} {no}RLIKE {_quoted(draw(st.sampled_from(_EXPRESSIONS)))}"
            word = draw(st.sampled_from(["LIKE", "ILIKE"]))
            return f"{name} {no}{word} {_quoted(draw(st.sampled_from(_PATTERNS)))}"
        case "pattern":
            return f"{name} {no}CONTAINS {draw(value)}"
    return f"{name} {draw(operators)} {draw(value)}"


def texts() -> st.SearchStrategy[str]:
    """Filters with connectives, a few levels deep, on few attributes as often as on many."""
    return st.recursive(
        comparisons() | st.sampled_from(["TRUE", "FALSE", "b1", "1 < 2"]),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
                lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
            ),
            inner.map(lambda text: f"NOT ({text})"),
        ),
        max_leaves=7,
    )


@st.composite
def narrow_texts(draw: st.DrawFn) -> str:
    """Filters whose comparisons are all on one attribute, where rewrites have most to do."""
    inner = comparisons([draw(st.sampled_from(_ATTRIBUTES))])
    parts = draw(
        st.lists(st.tuples(inner, st.sampled_from(["AND", "OR", "AND NOT", "OR NOT"])), min_size=2, max_size=5)
    )
    return " ".join(f"{text} {word}" for text, word in parts[:-1]) + " " + parts[-1][0]


def _event(random: Random) -> dict[str, list[Any]]:
    """The values of some attributes; the others are absent."""
    event: dict[str, list[Any]] = {}
    for name in _ATTRIBUTES:
        most = 3 if name.endswith("m") else 1
        values = VALUES[name[0]]
        if count := random.randint(0, min(most, len(values))):
            event[name] = random.sample(values, count)
    return event


EVENTS = [{}, *(_event(Random(seed)) for seed in range(300))]
"""Drawn once: each filter meets all of them."""
