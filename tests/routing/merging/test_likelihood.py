"""Shares of events are what counting every event says."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Schema
from tamis.language import Filter, normalise, parse
from tamis.language.extents import everything
from tamis.matching.base.statistics import AttributeStatistics, Statistics
from tamis.matching.naive import holds
from tamis.routing.merging import Likelihood, Shares
from tests.routing.covering.small_worlds import SCHEMA as SMALL

NAMES = ("a", "b", "c")
SCHEMA = Schema.from_dict(
    {"attributes": dict.fromkeys(NAMES, "integer"), "event_types": {"one": dict.fromkeys(NAMES, "optional")}}
)
PRESENCE = {"a": 0.75, "b": 0.5, "c": 1.0}
VALUES = {0: 0.125, 1: 0.375, 2: 0.25, 3: 0.25}
SHARES = Shares(SCHEMA, Statistics(8, {name: AttributeStatistics(PRESENCE[name], VALUES) for name in NAMES}))

_condition = st.builds(
    "{} {} {}".format, st.sampled_from(NAMES), st.sampled_from(["=", "<", ">", "<=", ">="]), st.integers(0, 3)
) | st.sampled_from(["a IS NULL", "b IS NOT NULL"])
_conjunction = st.lists(_condition, min_size=1, max_size=3).map(" AND ".join)
_filters = st.lists(_conjunction, min_size=1, max_size=3).map(" OR ".join)


def normal(text: str) -> Filter:
    return normalise(parse(text, SCHEMA), SCHEMA)


def counted(*filters: Filter) -> float:
    """The share of events that match all filters."""
    total = 0.0
    for states in product([None, *VALUES], repeat=len(NAMES)):
        event = {name: [value] for name, value in zip(NAMES, states, strict=True) if value is not None}
        weight = 1.0
        for name, value in zip(NAMES, states, strict=True):
            weight *= 1 - PRESENCE[name] if value is None else PRESENCE[name] * VALUES[value]
        if all(_matches(filter, event) for filter in filters):
            total += weight
    return total


def _matches(filter: Filter, event: dict[str, list[int]]) -> bool:
    return any(
        all(
            holds(literal.leaf, event, SCHEMA, negated=True)
            if hasattr(literal, "leaf")
            else holds(literal, event, SCHEMA)
            for literal in conjunct
        )
        for conjunct in filter.conjuncts
    )


@given(_conjunction)
def test_a_conjunction_has_the_share_of_the_events_that_satisfy_it(text: str) -> None:
    filter = normal(text)
    if len(filter.conjuncts) != 1:
        return
    likelihood = Likelihood(SCHEMA, SHARES)
    assert likelihood.of(likelihood.box(filter.conjuncts[0])) == pytest.approx(counted(filter), abs=1e-9)


@given(_conjunction, _filters)
def test_with_advertisements_it_is_the_share_of_events_that_match_one_of_them_too(text: str, advertised: str) -> None:
    filter, ads = normal(text), normal(advertised)
    if len(filter.conjuncts) != 1:
        return
    likelihood = Likelihood(SCHEMA, SHARES, [ads])
    ours = likelihood.of(likelihood.box(filter.conjuncts[0]))
    assert ours == pytest.approx(counted(filter, ads), abs=1e-9)
    if not ads.conjuncts:
        assert ours == 0.0


def test_what_no_past_event_had_is_unlikely_and_not_impossible() -> None:
    likelihood = Likelihood(SCHEMA, SHARES)
    share = likelihood.of(likelihood.box(normal("a = 7").conjuncts[0]))
    assert 0.0 < share < 1e-9


def test_of_what_nothing_is_known_everything_may_come() -> None:
    shares = Shares(SMALL)
    assert shares.of("i", everything(SMALL.attributes["i"])) == 1.0
    assert shares.absent("i") == 1.0


def test_frequent_values_have_their_own_share_and_quantiles_divide_the_rest() -> None:
    about = AttributeStatistics(0.5, {"red": 0.5}, ("blue", "green", "red", "white", "yellow"))
    schema = Schema.from_dict({"attributes": {"colour": "string"}, "event_types": {"one": {"colour": "optional"}}})
    likelihood = Likelihood(schema, Shares(schema, Statistics(10, {"colour": about})))

    def share(text: str) -> float:
        return likelihood.of(likelihood.box(normalise(parse(text, schema), schema).conjuncts[0]))

    assert share("colour = 'red'") == pytest.approx(0.25)
    assert share("colour < 'h'") == pytest.approx(0.5 * 0.25)
    assert share("colour IS NOT NULL") == pytest.approx(0.5)
    assert share("colour LIKE 'w%'") == pytest.approx(0.5 * 0.125)
