"""From Python functions to operators: names, kinds, what the event fills and what a call gives."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

import pytest

import tamis
from tamis.errors import OperatorError
from tamis.operators.registry import resolve

SCHEMA = tamis.Schema.from_dict(
    {
        "attributes": {"lat": "float", "lon": "float", "seller.rating": "integer", "tags": "string"},
        "event_types": {"seen": {"lat": "mandatory", "lon": "mandatory", "tags": ["optional", "multiple"]}},
    }
)


@tamis.operator(cost=3.0, version="2")
def near(lat: float, lon: float, place: str, metres: float = 1000.0, distance: float = tamis.Var) -> Any:
    """How far a place is."""
    return [1.0]


def test_leading_parameters_called_as_attributes_are_read_from_the_event() -> None:
    resolved = resolve(near, SCHEMA)
    assert resolved.attributes == ("lat", "lon")
    assert str(resolved.signature) == "near(place: string, metres: float (optional), ?distance: float)"
    assert resolved.signature.version == "2"


def test_double_underscores_stand_for_dots() -> None:
    @tamis.operator
    def trusted(seller__rating: int, at_least: int) -> bool:
        return seller__rating >= at_least

    assert resolve(trusted, SCHEMA).attributes == ("seller.rating",)


def test_a_parameter_with_a_default_is_an_argument_whatever_its_name() -> None:
    @tamis.operator
    def counted(lat: float, lon: float = tamis.Var) -> Any:
        return []

    resolved = resolve(counted, SCHEMA)
    assert resolved.attributes == ("lat",)
    assert [formal.parameter.name for formal in resolved.arguments] == ["lon"]


def test_the_whole_event_goes_to_a_parameter_of_that_name() -> None:
    @tamis.operator
    def any_of(event: dict[str, Any], *words: str) -> bool:
        return bool(words)

    resolved = resolve(any_of, SCHEMA)
    assert resolved.reads_event
    assert resolved.attributes == ()
    assert str(resolved.signature) == "any_of(words: string, ...)"


def test_reads_names_attributes_or_maps_parameters_to_them() -> None:
    def within(where: float, how_far: float) -> bool:
        return where < how_far

    by_name = tamis.operator(reads={"where": "seller.rating"})(within)
    assert resolve(by_name, SCHEMA).attributes == ("seller.rating",)
    with pytest.raises(OperatorError, match="has no parameter lat; it has where, how_far"):
        tamis.operator(reads=("lat",))(within)
    with pytest.raises(OperatorError, match=r"write reads=\('lat',\)"):
        tamis.operator(reads="lat")(within)
    missing = tamis.operator(reads={"where": "altitude"})(within)
    with pytest.raises(OperatorError, match="reads altitude"):
        resolve(missing, SCHEMA)


def test_annotations_become_kinds() -> None:
    @tamis.operator
    def kinds(
        a: int,
        b: float,
        c: str,
        d: bool,
        e: datetime,
        f: Literal["x", "y"],
        g: int | float,
        h: Any,
        i: str | None = None,
    ) -> bool:
        return True

    parameters = resolve(kinds, SCHEMA).signature.parameters
    kinds_of = [parameter.kind for parameter in parameters]
    assert kinds_of == ["integer", "float", "string", "boolean", "timestamp", "string", "float", "any", "string"]
    assert parameters[5].choices == ("x", "y")
    assert (parameters[8].optional, parameters[8].default) == (True, None)


def test_annotations_that_only_the_function_knows_are_taken_by_name() -> None:
    from decimal import Decimal

    @tamis.operator
    def later(lat: Decimal, hours: int, then: datetime = tamis.Var) -> bool:
        return True

    assert str(resolve(later, SCHEMA).signature) == "later(hours: integer, ?then: timestamp)"


def _listing(words: list[str]) -> bool:
    return bool(words)


def _far(where: str = "here", far: int = ...) -> bool:  # type: ignore[assignment]
    return bool(where)


def _after(where: str, *more: str, far: int = 1) -> bool:
    return bool(where)


def _open(**more: str) -> bool:
    return bool(more)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_listing, r"words is no attribute of the schema.*annotated with list\[str\]"),
        (_far, "its default is Ellipsis"),
        (_after, "nothing can be given after"),
        (_open, r"no \*\* parameter"),
    ],
)
def test_what_a_filter_cannot_give_is_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(OperatorError, match=message):
        resolve(tamis.operator(function), SCHEMA)


@pytest.mark.parametrize(
    "options", [{"name": "not a name"}, {"name": "between"}, {"cost": 0}, {"cost": float("nan")}, {"time_limit": -1}]
)
def test_what_makes_no_sense_is_refused_when_it_is_declared(options: dict[str, Any]) -> None:
    with pytest.raises(OperatorError):
        tamis.operator(**options)(_listing)


def test_an_operator_is_still_the_function() -> None:
    assert near(1.0, 2.0, "home") == [1.0]
    assert (near.__doc__, near.about) == ("How far a place is.", "How far a place is.")


def test_an_operator_travels_by_its_place() -> None:
    assert pickle.loads(pickle.dumps(near)) is near
    dearer = pickle.loads(pickle.dumps(near.with_cost(9.0)))
    assert (dearer.cost, dearer.function) == (9.0, near.function)
    assert pickle.loads(pickle.dumps(tamis.Var)) is tamis.Var
