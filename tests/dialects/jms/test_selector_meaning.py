"""Converted selectors hold for exactly the messages that JMS would select."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import Schema
from tamis.dialects import jms
from tests.dialects.agreement import assert_agree, assert_all_agree
from tests.dialects.jms import selector
from tests.generated import cases

KINDS = {"JMSType": "string", "colour": "string", "grade": "grade", "age": "integer", "stock": "integer",
         "price": "float", "reserve": "float", "sold": "boolean", "fresh": "boolean"}  # fmt: skip
SCHEMA = Schema.from_dict(
    {
        "domains": {"grade": {"type": "enumerated", "values": ["a", "ab", "b%"]}},
        "attributes": KINDS,
        "event_types": {"message": dict.fromkeys(KINDS, "optional")},
    }
)
TEXTS = st.text(alphabet="ab%_\\'é\n", max_size=3)
INTEGERS = st.integers(-9, 9) | st.sampled_from([2**53, 2**53 + 1, 2**62, -(2**62)])
FLOATS = st.sampled_from([-2.5, -0.0, 0.1, 0.3, 0.5, 1.0, 3.0, 1e16, 1e300, 5e-324]) | st.floats(
    allow_nan=False, allow_infinity=False
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS, "grade": st.sampled_from(["a", "ab", "b%"]), "integer": INTEGERS, "float": FLOATS,
    "boolean": st.booleans(),
}  # fmt: skip
STRINGS, NUMBERS, BOOLEANS = ["JMSType", "colour", "grade"], ["age", "stock", "price", "reserve"], ["sold", "fresh"]
EQUALITY, ORDER = ["=", "<>"], ["=", "<>", "<", "<=", ">", ">="]


def value(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(lambda one: ("value", one), values)


@st.composite
def arithmetic(draw: st.DrawFn) -> Any:
    """One property, with constants added, subtracted, multiplied and divided by."""
    tree: Any = ("name", draw(st.sampled_from(NUMBERS)))
    small = st.sampled_from([1, 2, 3, -2, 7, 0.1, 0.5, -1.5, 1e10])
    for _ in range(draw(st.integers(0, 3))):
        constant = ("value", draw(small))
        match draw(st.sampled_from(["+", "-", "*", "/", "minus", "reversed -", "reversed *"])):
            case "minus":
                tree = ("minus", tree)
            case "reversed -":
                tree = ("-", constant, tree)
            case "reversed *":
                tree = ("*", constant, tree)
            case operator:
                tree = (operator, tree, constant)
    return tree


def escaped_patterns() -> st.SearchStrategy[tuple[str, str]]:
    """A pattern and its escape, which may be a wildcard and may stand before itself."""
    return st.sampled_from("!_%\\").flatmap(
        lambda escape: st.tuples(
            st.lists(st.sampled_from([*"ab%_", *(escape + each for each in ("a", "%", "_", escape))]), max_size=4)
            .map("".join)
            .filter(lambda text: (len(text) - len(text.rstrip(escape))) % 2 == 0),
            st.just(escape),
        )
    )


def leaves() -> st.SearchStrategy[Any]:
    numbers = value(st.integers(-9, 9) | st.sampled_from([0.5, -2.5, 0.3, 1e16, 2**53 + 1]))
    return st.one_of(
        st.builds(lambda a, o, b: ("compare", a, o, b), arithmetic(), st.sampled_from(ORDER), numbers),
        st.builds(lambda a, o, b: ("compare", a, o, b), numbers, st.sampled_from(ORDER), arithmetic()),
        st.builds(lambda a, b, c: ("between", a, b, c), arithmetic(), numbers, numbers),
        st.builds(
            lambda pair, o: ("compare", ("name", pair[0]), o, ("name", pair[1])),
            st.sampled_from([("age", "stock"), ("price", "reserve"), ("age", "age")]), st.sampled_from(ORDER)),
        st.builds(
            lambda pair, o: ("compare", ("name", pair[0]), o, ("name", pair[1])),
            st.sampled_from([("JMSType", "colour"), ("sold", "fresh"), ("sold", "colour"), ("age", "sold")]),
            st.sampled_from(EQUALITY)),
        # Values that are not alike, too.
        st.builds(
            lambda name, o, b: ("compare", ("name", name), o, b),
            st.sampled_from(list(KINDS)), st.sampled_from(EQUALITY), value(TEXTS | st.booleans() | st.integers(-3, 3))),
        st.builds(lambda a, o, b: ("compare", a, o, b), numbers, st.sampled_from(ORDER), numbers),
        st.builds(lambda name: ("is null", name), st.sampled_from(list(KINDS))),
        st.builds(lambda name: ("is true", name), st.sampled_from(BOOLEANS)),
        st.builds(
            lambda name, values: ("in", name, values),
            st.sampled_from(STRINGS), st.lists(TEXTS, min_size=1, max_size=3)),
        st.builds(
            lambda name, pattern: ("like", name, pattern, None), st.sampled_from(STRINGS), TEXTS),
        st.builds(
            lambda name, escaped: ("like", name, *escaped), st.sampled_from(STRINGS), escaped_patterns()),
    )  # fmt: skip


TREES = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.builds(lambda one: ("not", one), inner),
        st.builds(lambda word, a, b: (word, a, b), st.sampled_from(["and", "or"]), inner, inner),
    ),
    max_leaves=5,
)


@st.composite
def messages(draw: st.DrawFn) -> dict[str, Any]:
    return {name: draw(VALUES[kind]) for name, kind in KINDS.items() if draw(st.booleans())}


@settings(max_examples=cases(120), deadline=None)
@given(TREES, st.lists(messages(), min_size=5, max_size=12))
def test_a_converted_selector_selects_what_jms_selects(tree: Any, some: list[dict[str, Any]]) -> None:
    text = selector.text(tree)
    assert_agree(jms.convert(text, SCHEMA), SCHEMA, some, lambda message: selector.selects(tree, message), text)


@settings(max_examples=cases(120), deadline=None)
@given(
    arithmetic(),
    st.sampled_from(ORDER),
    st.integers(-5, 5) | st.sampled_from([0.5, 0.3, 1e16, -7.25]),
    st.data(),
)
def test_arithmetic_becomes_a_range_that_is_exact_at_its_ends(
    tree: Any, operator: str, constant: Any, data: st.DataObject
) -> None:
    comparison = ("compare", tree, operator, ("value", constant))
    text = jms.convert(selector.text(comparison), SCHEMA)
    name = next(name for name in NUMBERS if name in selector.text(tree))
    values = data.draw(st.lists(VALUES[KINDS[name]], min_size=3, max_size=6))
    values += [value if KINDS[name] == "integer" else value / 2 for value in range(-12, 13)]
    # The ends that the filter names, and their neighbours.
    for word in text.replace("(", " ").replace(")", " ").split():
        try:
            end = float(word)
        except ValueError:
            continue
        if KINDS[name] == "integer":
            values += [int(end) - 1, int(end), int(end) + 1]
        else:
            values += [math.nextafter(end, -math.inf), end, math.nextafter(end, math.inf)]
    some = [{name: value} for value in values]
    assert_agree(text, SCHEMA, some, lambda message: selector.selects(comparison, message), selector.text(comparison))


def test_whole_numbers_divide_as_in_java() -> None:
    trees = {
        f"{operator} {divisor} {constant}": (
            "compare", ("/", ("name", "age"), ("value", divisor)), operator, ("value", constant))
        for operator in ORDER for divisor in (1, 2, 3, -2, 0.5) for constant in (-2, -1, 0, 1, 1.5)
    }  # fmt: skip
    filters = {id: jms.convert(selector.text(tree), SCHEMA) for id, tree in trees.items()}
    some = [{"age": age} for age in range(-9, 10)] + [{}]
    assert_all_agree(filters, SCHEMA, some, lambda id, message: selector.selects(trees[id], message))


def test_an_integer_and_a_double_compare_as_doubles() -> None:
    trees = {operator: ("compare", ("name", "age"), operator, ("value", 2.0**53)) for operator in ORDER}
    filters = {id: jms.convert(selector.text(tree), SCHEMA) for id, tree in trees.items()}
    some = [{"age": 2**53 + step} for step in range(-2, 4)]
    assert selector.selects(trees["="], {"age": 2**53 + 1})
    assert_all_agree(filters, SCHEMA, some, lambda id, message: selector.selects(trees[id], message))
