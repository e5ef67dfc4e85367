"""Operators on an event's place: in which region, how far from a landmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import Floats
from tamis.operators.declaring import operator
from tamis.operators.library.offering import Found, answer, version_of, with_choices
from tamis.operators.library.spatial.gazetteer import SAMPLE, Gazetteer, Places, gazetteer_of, read_places
from tamis.operators.registry import Operator, Var

_MILLISECONDS = 0.005


class Spatial(NamedTuple):
    """The spatial operators over one set of places; `operators=[*spatial("places.geojson")]` hands over all."""

    loc_in: Operator
    loc_within: Operator
    distance_from: Operator


def spatial(
    places: str | Path | Mapping[str, str] = SAMPLE, *, longitude: str = "longitude", latitude: str = "latitude"
) -> Spatial:
    """Operators over named places: a file (GeoJSON, or names and WKT in YAML), or a mapping of names to WKT.

    `longitude` and `latitude` are the attributes, in degrees (WGS 84), that say where an event is.
    """
    calls = _Calls(read_places(places))
    gazetteer = calls.gazetteer()  # refuses a geometry that is none, before any event asks
    reads = {"longitude": longitude, "latitude": latitude}
    declare = operator(reads=reads, batch=True, prepare=calls.gazetteer, version=version_of(calls), cost=_MILLISECONDS)
    return Spatial(
        with_choices(declare(calls.loc_in), "place", gazetteer.area_names()),
        with_choices(declare(calls.loc_within), "place", calls.places.names),
        with_choices(declare(calls.distance_from), "place", calls.places.names),
    )


@dataclass(frozen=True)
class _Calls:
    """Functions that filters call, over these places. Travels to other processes as the places' texts."""

    places: Places

    def gazetteer(self) -> Gazetteer:
        return gazetteer_of(self.places)

    def loc_in(self, longitude: pa.Array, latitude: pa.Array, place: str = Var) -> pa.Array | pa.Table:
        """Whether the event is in a region, its edge included; `loc_in(?region)` binds every region it is in."""
        gazetteer, degrees = self.gazetteer(), _degrees(longitude, latitude)
        if place is not Var:
            return pa.array(gazetteer.within(place, *degrees))
        rows, areas = gazetteer.areas_around(*degrees)
        names = pa.array(gazetteer.area_names(), pa.string()).take(pa.array(areas))
        return answer(len(longitude), rows, place=Found(place, names))

    def loc_within(self, longitude: pa.Array, latitude: pa.Array, place: str, metres: float) -> pa.Array:
        """Whether the event is at most so many metres from a place along the ground; in a region it is at 0."""
        return pa.array(self.gazetteer().distances(place, *_degrees(longitude, latitude)) <= metres)

    def distance_from(
        self, longitude: pa.Array, latitude: pa.Array, place: str, metres: float = Var
    ) -> pa.Array | pa.Table:
        """Binds the distance from a place along the ground, in metres; in a region it is 0."""
        found = self.gazetteer().distances(place, *_degrees(longitude, latitude))
        return answer(len(longitude), np.arange(len(longitude)), metres=Found(metres, pa.array(found)))


def _degrees(longitude: pa.Array, latitude: pa.Array) -> tuple[Floats, Floats]:
    degrees = longitude.cast(pa.float64()).to_numpy(), latitude.cast(pa.float64()).to_numpy()
    for name, values, most in (("longitude", degrees[0], 180), ("latitude", degrees[1], 90)):
        wrong = ~(np.abs(values) <= most)
        if wrong.any():
            raise ValueError(f"{name} {values[wrong][0]} is not between -{most} and {most} degrees")
    return degrees
