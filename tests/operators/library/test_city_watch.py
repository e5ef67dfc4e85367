"""P0's scenario (§2.1): the operators that come with Tamis, on a city whose facts are known."""

from __future__ import annotations

import pytest

from tamis.errors import FilterTypeError
from tamis.language import parse
from tamis.language.signatures import Signatures
from tamis.operators import Operator
from tamis.operators.resolution import resolve
from tamis.workloads.city_watch import city_watch, city_watch_schema

pytest.importorskip("shapely", reason="the extra `spatial` is not installed")
pytest.importorskip("cv2", reason="the extra `images` is not installed")
pytest.importorskip("owlrl", reason="the extra `reasoning` is not installed")

from tamis.operators.library.images import images
from tamis.operators.library.reasoning import reasoning
from tamis.operators.library.spatial import spatial
from tamis.operators.library.text import text

OPERATORS: tuple[Operator, ...] = (*spatial(), *images(), *reasoning(), *text())
SIGNATURES = Signatures(resolve(operator, city_watch_schema()).signature for operator in OPERATORS)


def test_every_subscription_of_the_city_is_a_filter() -> None:
    for subscription in city_watch(400, 0).subscriptions["filter"].to_pylist():
        parse(subscription, city_watch_schema(), operators=SIGNATURES)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("loc_in('Bronks')", "Bronx"),
        ("loc_in('Times Square')", "Bronx"),
        ("chase_pattern('police', 'any_car')", "police_car"),
        ("traffic_pattern('jam')", "congestion"),
        ("is_a('Policecar')", "PoliceCar"),
        ("mentions('fires', ?word)", "fire"),
    ],
)
def test_a_name_that_an_operator_does_not_know_is_refused_with_those_it_does(wrong: str, said: str) -> None:
    with pytest.raises(FilterTypeError, match=said):
        parse(wrong, city_watch_schema(), operators=SIGNATURES)
