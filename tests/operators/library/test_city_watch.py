"""P0's scenario (§2.1): the operators that come with Tamis, on a city whose facts are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.errors import FilterTypeError
from tamis.language import parse
from tamis.language.calls import Signatures
from tamis.operators import Operator
from tamis.operators.registry import resolve
from tamis.operators.schedules import SCHEDULES
from tamis.workloads.city_subscriptions import CityWatch, city_watch, city_watch_schema

pytest.importorskip("shapely", reason="the extra `spatial` is not installed")
pytest.importorskip("cv2", reason="the extra `images` is not installed")
pytest.importorskip("owlrl", reason="the extra `reasoning` is not installed")

from tamis.operators.library.images import images
from tamis.operators.library.reasoning import reasoning
from tamis.operators.library.spatial import loc_in, loc_within, spatial
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
    return city_watch(5, 16, seed=1181)  # all five are matched, and one crowd of 260 is enough to look for


@dataclass
class Questions:
    """Operators that write down what they are asked: name, constants, and the event by what is read of it."""

    asked: Counter[tuple[str, tuple[object, ...], object]] = field(default_factory=Counter)

    def of(self, operator: Operator) -> Operator:
        inputs = len(operator.reads or ())

        def function(*given: Any, **named: Any) -> Any:
            events = zip(*given[:inputs], strict=True) if operator.batch else [given[:inputs]]
            for event in events:
                read = tuple(value.as_py() if isinstance(value, pa.Scalar) else value for value in event)
                self.asked[operator.name, given[inputs:], read] += 1
            return operator.function(*given, **named)

        return replace(operator, function=function)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_subscriptions_of_the_paper_match_what_was_drawn_for_them(city: CityWatch, schedule: str) -> None:
    questions = Questions()
    operators = [questions.of(operator) for operator in OPERATORS]
    index = tamis.compile(city.subscriptions, city.schema, operators=operators, schedule=schedule)
    matches = index.match(city.events)
    assert matches.to_arrow().equals(city.truth)
    assert set(city.truth["subscription"].to_pylist()) == {"S1", "S2", "S3", "S4", "S5"}
    bound = {(match.event, match.subscription): match.variables for match in matches.bindings()}
    wanted = {(row["event"], row["subscription"]) for row in city.truth.to_pylist() if row["subscription"] != "S1"}
    assert bound.keys() == wanted
    for (_, subscription), variables in bound.items():
        assert CONSTRAINTS[subscription](**variables)
    assert all(operator.tally.failures == 0 for operator in index.operators)

    # Each predicate is evaluated at most once an event, whoever has it,
    assert max(questions.asked.values()) == 1
    assert questions.asked.total() == sum(operator.tally.evaluations for operator in index.operators)
    # and those that weigh costs look at pictures only where the place leaves some subscription open that asks for it.
    here = _subscriptions_by_place(city)
    by_picture: dict[object, int] = {(event["image"],): number for number, event in enumerate(city.events.to_pylist())}
    assert len(by_picture) == len(city.events)
    looked = [(name, given, by_picture[read]) for name, given, read in questions.asked if name not in SPATIAL]
    if schedule in ("adaptive", "sub-order"):
        assert all(here[event] & ASKED_BY[name, given] for name, given, event in looked)
        assert len(looked) <= 40
    assert len(looked) < 0.7 * len(ASKED_BY) * len(city.events)


SPATIAL = {operator.name for operator in spatial()}
ASKED_BY: dict[tuple[str, tuple[object, ...]], set[str]] = {
    ("chase_pattern", ("police_car", "any_car")): {"S1"},
    ("mob_pattern", (tamis.Var,)): {"S2"},
    ("traffic_pattern", ("congestion",)): {"S3", "S4"},
    ("pedestrian_count", (tamis.Var,)): {"S3"},
    ("traffic_pattern", ("accident",)): {"S4"},
    ("police_car_count", (tamis.Var,)): {"S4"},
    ("tour_boat_count", (tamis.Var,)): {"S5"},
    ("coast_guard_boat_count", (tamis.Var,)): {"S5"},
}


def _subscriptions_by_place(city: CityWatch) -> list[set[str]]:
    """For each event the subscriptions that its place leaves open."""
    spot = [city.events[name].combine_chunks() for name in ("longitude", "latitude")]
    held = {
        ("S1", "S2", "S4"): loc_in(*spot, "Bronx").to_pylist(),
        ("S3",): loc_within(*spot, "Times Square", 5000.0).to_pylist(),
        ("S5",): loc_within(*spot, "Statue of Liberty", 999.9).to_pylist(),
    }
    return [{id for ids, places in held.items() if places[number] for id in ids} for number in range(len(city.events))]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_guard_spares_every_picture_that_it_can(city: CityWatch, schedule: str) -> None:
    filters = {
        "slow": "speed < 8 AND mob_pattern(?people) AND ?people > 50",
        "high": "altitude > 250 AND loc_in(?region)",
    }
    index = tamis.compile(filters, city.schema, operators=OPERATORS, schedule=schedule)
    index.match(city.events)
    events = city.events.to_pylist()
    assert index.operators["mob_pattern"].tally.evaluations == sum(event["speed"] < 8 for event in events)
    assert index.operators["loc_in"].tally.evaluations == sum(event["altitude"] > 250 for event in events)


def test_learned_costs_keep_the_order_that_declared_ones_begin_with(city: CityWatch) -> None:
    learning = [operator.with_cost(None) for operator in OPERATORS]
    index = tamis.compile(city.subscriptions, city.schema, operators=learning)
    for _ in range(4):  # what is learned is taken over every few dozen events
        index.match(city.events)
    matches = index.match(city.events)
    assert matches.to_arrow().equals(city.truth)
    assert all(operator.learned for operator in index.operators)
    assert index.operators["loc_in"].cost is not None


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


NOWHERE = [("latitude", 91.0), ("latitude", -1e300), ("longitude", 180.0001), ("longitude", float("inf"))]
NO_PICTURES = [b"no picture", b"", b"\x89PNG\r\n\x1a\n" + b"\xff" * 40, b"\xff\xd8\xff" + b"\xff" * 400]


def test_what_makes_no_sense_is_unknown_and_spoils_nothing_else(city: CityWatch) -> None:
    (good,) = city.events.slice(2, 1).to_pylist()
    good = {**good, "longitude": -73.9, "latitude": 40.85, "report": "smoke, then " + "flames " * 9_000}
    nowhere = [{**good, name: value} for name, value in NOWHERE]
    blind = [{**good, "image": image} for image in NO_PICTURES]
    texts = {
        "in": "loc_in('Bronx')",
        "out": "NOT loc_in('Bronx')",
        "some": "loc_in(?region)",
        "far": "distance_from('Bronx', ?metres) AND ?metres >= 0",
        "near": "loc_within('Bronx', 20000000)",
        "count": "pedestrian_count(?n) AND ?n >= 0",
        "no mob": "mob_pattern(?n) OR NOT mob_pattern(?n)",
        "cars": "vehicle_count('any_car', ?n) AND ?n >= 0",
        "jam": "traffic_pattern('congestion') OR NOT traffic_pattern('congestion')",
        "fire": "mentions('fire', ?word)",
        "words": "finds('\\w+', ?word)",
    }
    index = tamis.compile(texts, city.schema, operators=OPERATORS)
    assert not index.errors
    found = [set(ids) for ids in index.match([good, *nowhere, *blind, good]).to_lists()]
    assert found[0] == found[-1] == set(texts) - {"out"}
    places, pictures = {"in", "some", "far", "near"}, {"count", "no mob", "cars", "jam"}
    assert found[1:5] == [found[0] - places] * 4
    assert found[5:9] == [found[0] - pictures] * 4
    for operator in index.operators:
        wrong = {"loc_in": 8, "distance_from": 4, "loc_within": 4, "pedestrian_count": 4, "vehicle_count": 4}
        if operator.name in wrong:
            assert operator.tally.failures == wrong[operator.name]
            assert any(word in operator.tally.last_failure for word in ("degrees", "the image is"))


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
