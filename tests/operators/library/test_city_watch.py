"""P0's scenario (§2.1): the operators that come with Tamis, on a city whose facts are known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tamis
from tamis.errors import FilterTypeError
from tamis.language import parse
from tamis.language.signatures import Signatures
from tamis.operators import Operator
from tamis.operators.resolution import resolve
from tamis.workloads.city_watch import CityWatch, city_watch, city_watch_schema

pytest.importorskip("shapely", reason="the extra `spatial` is not installed")
pytest.importorskip("cv2", reason="the extra `images` is not installed")
pytest.importorskip("owlrl", reason="the extra `reasoning` is not installed")

from tamis.operators.library.images import images
from tamis.operators.library.reasoning import reasoning
from tamis.operators.library.spatial import loc_in, spatial
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


@pytest.fixture(scope="module")
def city() -> CityWatch:
    return city_watch(5, 24, seed=7)


def test_the_subscriptions_of_the_paper_match_what_was_drawn_for_them(city: CityWatch) -> None:
    index = tamis.compile(city.subscriptions, city.schema, operators=OPERATORS)
    matches = index.match(city.events)
    assert matches.to_arrow().equals(city.truth)
    assert set(city.truth["subscription"].to_pylist()) == {"S1", "S2", "S3", "S4", "S5"}
    bound = {(match.event, match.subscription): match.variables for match in matches.bindings()}
    assert {subscription for _, subscription in bound} == {"S2", "S3", "S4", "S5"}
    for (_, subscription), variables in bound.items():
        assert CONSTRAINTS[subscription](**variables)

    # Pictures are looked at only where places leave something open.
    evaluations = {operator.name: operator.tally.evaluations for operator in index.operators}
    bronx = sum(
        loc_in(city.events["longitude"].combine_chunks(), city.events["latitude"].combine_chunks(), "Bronx").to_pylist()
    )
    assert evaluations["loc_in"] == evaluations["distance_from"] == 24
    assert evaluations["mob_pattern"] == evaluations["chase_pattern"] == bronx < 12
    assert evaluations["pedestrian_count"] < 6
    assert evaluations["tour_boat_count"] < 6
    assert all(operator.tally.failures == 0 for operator in index.operators)


CONSTRAINTS: dict[str, Callable[..., bool]] = {
    "S2": lambda people: 50 < people < 60,
    "S3": lambda ped: 250 < ped < 270,
    "S4": lambda pol: 0 <= pol < 2,
    "S5": lambda x, y, z: 0 < x < 1000 and y > 2 * z >= 0,
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_the_city_is_watched_for_matches_what_was_drawn(seed: int) -> None:
    city = city_watch(200, 60, seed)
    index = tamis.compile(city.subscriptions, city.schema, operators=OPERATORS)
    matches = index.match(city.events)
    found, true = (set(zip(*table.to_pydict().values(), strict=True)) for table in (matches.to_arrow(), city.truth))
    assert found == true
    called = {operator.name for operator in index.operators if operator.tally.evaluations}
    assert called == {operator.name for operator in OPERATORS} - {"vehicle_count"}


def test_a_broken_picture_costs_its_own_matches_only(city: CityWatch) -> None:
    events = city.events.to_pylist()
    spoilt = int(city.truth["event"][0].as_py())
    events[spoilt]["image"] = b"no picture"
    index = tamis.compile(city.subscriptions, city.schema, operators=OPERATORS)
    matches = index.match(events).to_arrow().to_pylist()
    assert matches == [match for match in city.truth.to_pylist() if match["event"] != spoilt]
    failed = [operator for operator in index.operators if operator.tally.failures]
    assert failed
    assert all("neither PNG nor JPEG" in operator.tally.last_failure for operator in failed)


def test_an_event_without_a_picture_is_still_somewhere(city: CityWatch) -> None:
    (event,) = city.events.select(["camera", "taken", "longitude", "latitude"]).slice(0, 1).to_pylist()
    texts = {"here": "loc_in(?region)", "nobody": "NOT mob_pattern(?n)", "nothing": "vehicle_count('any_boat', 0)"}
    index = tamis.compile(texts, city.schema, operators=OPERATORS)
    bronx = {**event, "longitude": -73.9, "latitude": 40.85}
    matches = index.match([bronx])
    assert matches.to_arrow()["subscription"].to_pylist() == ["here"]
    assert matches.bindings()[0].variables == {"region": "Bronx"}
