"""Gazetteer of named places as geometries, distances along the ground, and the spatial operators over them."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import yaml

from tamis.arrays import Floats
from tamis.errors import OperatorError, shown
from tamis.operators.declaring import operator
from tamis.operators.library.offering import Found, answer, extra, version_of, with_choices
from tamis.operators.registry import Operator, Var
from tamis.yaml_loading import load

# Distances on the earth's ellipsoid (WGS 84), many at once.

with extra("spatial"):
    from geographiclib.geodesic import Geodesic

Degrees = Floats | float

_EARTH = Geodesic.WGS84
_AXIS, _FLATTENING = float(_EARTH.a), float(_EARTH.f)
_POLAR_AXIS = _AXIS * (1 - _FLATTENING)
_MOST_STEPS = 12
# In radians: a tenth of a micrometre on the ground.
_CLOSE_ENOUGH = 1e-14


def distances(longitudes: Degrees, latitudes: Degrees, to_longitudes: Degrees, to_latitudes: Degrees) -> Floats:
    """Metres along the ground from each point to its other, all in degrees; right to a tenth of a millimetre.

    Vincenty's iteration (1975) on whole columns: a hundred times faster than GeographicLib's Python, which takes over
    for the pairs, almost at each other's antipodes, on which the iteration does not settle.
    """
    arguments = np.broadcast_arrays(longitudes, latitudes, to_longitudes, to_latitudes)
    metres, settled = _vincenty(*(np.asarray(each, np.float64) for each in arguments))
    for row in np.flatnonzero(~settled).tolist():
        longitude, latitude, to_longitude, to_latitude = (float(each[row]) for each in arguments)
        metres[row] = _EARTH.Inverse(latitude, longitude, to_latitude, to_longitude, Geodesic.DISTANCE)["s12"]
    return metres


def _vincenty(
    longitudes: Floats, latitudes: Floats, to_longitudes: Floats, to_latitudes: Floats
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Metres, and a mask of the pairs on which the iteration settled; names as in Vincenty's paper."""
    f = _FLATTENING
    u1, u2 = (np.arctan((1 - f) * np.tan(np.radians(each))) for each in (latitudes, to_latitudes))
    sin_u1, cos_u1, sin_u2, cos_u2 = np.sin(u1), np.cos(u1), np.sin(u2), np.cos(u2)
    # The short way round: differences beyond 180 degrees turn back.
    apart = np.radians((to_longitudes - longitudes + 180) % 360 - 180)
    lam = apart
    with np.errstate(invalid="ignore", divide="ignore"):
        for _ in range(_MOST_STEPS):
            sin_sigma = np.hypot(cos_u2 * np.sin(lam), cos_u1 * sin_u2 - sin_u1 * cos_u2 * np.cos(lam))
            cos_sigma = sin_u1 * sin_u2 + cos_u1 * cos_u2 * np.cos(lam)
            sigma = np.arctan2(sin_sigma, cos_sigma)
            sin_alpha = np.where(sin_sigma == 0, 0, cos_u1 * cos_u2 * np.sin(lam) / sin_sigma)
            cos_2alpha = 1 - sin_alpha**2
            # Along the equator there is no turning point, and its term falls away.
            cos_2sigma_m = np.where(cos_2alpha < 1e-15, 0, cos_sigma - 2 * sin_u1 * sin_u2 / cos_2alpha)
            c = f / 16 * cos_2alpha * (4 + f * (4 - 3 * cos_2alpha))
            inner = cos_2sigma_m + c * cos_sigma * (2 * cos_2sigma_m**2 - 1)
            before, lam = lam, apart + (1 - c) * f * sin_alpha * (sigma + c * sin_sigma * inner)
            settled = np.abs(lam - before) < _CLOSE_ENOUGH
            if settled.all():
                break
    u_squared = cos_2alpha * (_AXIS**2 / _POLAR_AXIS**2 - 1)
    a = 1 + u_squared / 16384 * (4096 + u_squared * (u_squared * (320 - 175 * u_squared) - 768))
    b = u_squared / 1024 * (256 + u_squared * (u_squared * (74 - 47 * u_squared) - 128))
    squared = cos_2sigma_m**2
    last = b / 6 * cos_2sigma_m * (4 * sin_sigma**2 - 3) * (4 * squared - 3)
    correction = b * sin_sigma * (cos_2sigma_m + b / 4 * (cos_sigma * (2 * squared - 1) - last))
    return np.asarray(_POLAR_AXIS * a * (sigma - correction)), settled & (np.abs(lam) <= np.pi)


# Named places as texts: GeoJSON, or WKT by name.

SAMPLE = Path(__file__).with_name("new_york.geojson")
"""New York's five boroughs, outlined by hand for examples (right to a few hundred metres), and some landmarks."""

_FORMS = "a GeoJSON FeatureCollection (.geojson, .json) or a YAML mapping of names to WKT (.yaml)"


@dataclass(frozen=True)
class Places:
    """Named places as texts: names, sorted, and for each its geometry, WKT or a GeoJSON geometry.

    Self-contained: it travels to other processes, where `gazetteer_of` makes geometries of it once.
    """

    names: tuple[str, ...]
    texts: tuple[str, ...]

    def __hash__(self) -> int:
        # Asked at every call, and texts may be long; those of the same names are told apart by comparing.
        return hash(self.names)

    @classmethod
    def of(cls, geometries: Mapping[str, str]) -> Places:
        names = tuple(sorted(geometries))
        return cls(names, tuple(geometries[name] for name in names))


def read_places(source: str | Path | Mapping[str, str]) -> Places:
    """Places from a file, or from a mapping of names to WKT."""
    if isinstance(source, Mapping):
        return Places.of(_named_texts(source.items(), "places"))
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix in (".geojson", ".json"):
            return Places.of(_features(json.loads(text), path))
        if path.suffix in (".yaml", ".yml"):
            return Places.of(_named_texts(dict(load(text)).items(), str(path)))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, yaml.YAMLError) as error:
        raise OperatorError(f"places cannot be read from {path}: {error}; {_FORMS} is wanted") from error
    raise OperatorError(f"{path} is no file of places; {_FORMS} is wanted")


def _features(collection: Any, path: Path) -> dict[str, str]:
    features = collection.get("features") if isinstance(collection, dict) else None
    if not isinstance(features, list):
        raise ValueError("it has no features")
    named: list[tuple[object, object]] = []
    for number, feature in enumerate(features):
        name = (feature.get("properties") or {}).get("name")
        if name is None or not feature.get("geometry"):
            raise ValueError(f"feature {number} lacks a geometry, or a name among its properties")
        named.append((name, json.dumps(feature["geometry"])))
    return _named_texts(named, str(path))


def _named_texts(items: Iterable[tuple[object, object]], place: str) -> dict[str, str]:
    named: dict[str, str] = {}
    for name, text in items:
        if not isinstance(name, str) or not isinstance(text, str):
            raise OperatorError(f"{place}: {shown(name)} is {shown(text)}; a name and its geometry as text are wanted")
        if name in named:
            raise OperatorError(f"{place}: there are two places {shown(name)}; name one of them otherwise")
        named[name] = text
    if not named:
        raise OperatorError(f"{place}: there is no place")
    return named


with extra("spatial"):
    import shapely

_AREAS = ("Polygon", "MultiPolygon")
_POLES = {pole: shapely.LineString([(-180, pole), (180, pole)]) for pole in (-90, 90)}


class Gazetteer:
    """Places by name as geometries in degrees; areas are prepared, and all of them are in one tree of bounding boxes.

    Frozen once built, GEOS's lazily built indexes included, so any number of threads ask at once.
    """

    def __init__(self, names: Sequence[str], geometries: Sequence[Any]) -> None:
        self._geometries = dict(zip(names, geometries, strict=True))
        self._areas = [name for name, geometry in self._geometries.items() if geometry.geom_type in _AREAS]
        areas = [self._geometries[name] for name in self._areas]
        shapely.prepare(areas)
        # GEOS makes the index of a prepared area when it is first asked, and not safely among threads: ask now.
        for area in areas:
            shapely.intersects_xy(area, 0.0, 0.0)
        self._tree = shapely.STRtree(areas)
        self._middles = {name: shapely.centroid(geometry) for name, geometry in self._geometries.items()}
        self._maps = {name: self._map(name) for name in names}

    def area_names(self) -> Sequence[str]:
        return self._areas

    def within(self, name: str, longitudes: Floats, latitudes: Floats) -> npt.NDArray[np.bool_]:
        """Points that lie in an area or on its edge. A point or a line is no area, and is refused."""
        geometry = self._known(name)
        if geometry.geom_type not in _AREAS:
            raise OperatorError(f"{name} is a {geometry.geom_type.lower()}, and nothing lies in it; ask how far it is")
        held = np.asarray(shapely.intersects_xy(geometry, longitudes, latitudes))
        # A spot on the date line has two longitudes, and one at a pole all of them.
        lined = np.abs(longitudes) == 180
        if lined.any():
            held[lined] |= shapely.intersects_xy(geometry, -longitudes[lined], latitudes[lined])
        for pole, line in _POLES.items():
            if (polar := latitudes == pole).any():
                held[polar] = shapely.intersects(geometry, line)
        return held

    def areas_around(
        self, longitudes: Floats, latitudes: Floats
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Pairs of a point and an area (by its place in `area_names`) that has it, by point and then by area."""
        points, areas = self._tree.query(shapely.points(longitudes, latitudes))
        # What has several longitudes may be in boxes elsewhere: each area is asked.
        several = (np.abs(longitudes) == 180) | (np.abs(latitudes) == 90)
        if several.any():
            rows, every = np.flatnonzero(several), np.arange(len(self._areas))
            points, areas = points[~several[points]], areas[~several[points]]
            points = np.concatenate([points, np.repeat(rows, len(every))])
            areas = np.concatenate([areas, np.tile(every, len(rows))])
        by_area = np.argsort(areas, kind="stable")
        points, areas = points[by_area], areas[by_area]
        has = np.zeros(len(points), np.bool_)
        # The tree knows boxes. It could ask the areas too, but one point at a time, which does not use their indexes.
        starts = np.flatnonzero(np.diff(areas, prepend=-1)).tolist()
        for start, end in itertools.pairwise([*starts, len(areas)]):
            rows = points[start:end]
            has[start:end] = self.within(self._areas[areas[start]], longitudes[rows], latitudes[rows])
        points, areas = points[has], areas[has]
        order = np.lexsort((areas, points))
        return points[order].astype(np.int64), areas[order].astype(np.int64)

    def distances(self, name: str, longitudes: Floats, latitudes: Floats) -> Floats:
        """Metres along the ground from each point to a place; 0 in an area.

        To what is not a point, they are measured to where it is nearest on a map that is true to scale at its middle:
        for a place of a city's size and 100 km around it, that is less than 1% too far, and never too near.
        """
        geometry = self._known(name)
        if geometry.geom_type == "Point":
            return distances(longitudes, latitudes, float(geometry.x), float(geometry.y))
        west, _, east, _ = geometry.bounds
        if east - west > 180:
            # It may lie on both sides of the date line, and nothing says which part is near.
            turned = [self._on_map(name, longitudes + turn, latitudes) for turn in (-360, 0, 360)]
            return np.asarray(np.minimum.reduce(turned))
        # Across the date line the map goes on: points are put on the side that is nearer.
        middle = self._middles[name].x
        return self._on_map(name, (longitudes - middle + 180) % 360 - 180 + middle, latitudes)

    def _on_map(self, name: str, longitudes: Floats, latitudes: Floats) -> Floats:
        scale = _scale(self._middles[name])
        on_map = shapely.points(longitudes * scale, latitudes)
        lines = shapely.get_coordinates(shapely.shortest_line(on_map, self._maps[name]))
        nearest = lines.reshape(len(longitudes), 4)[:, 2:]
        return distances(longitudes, latitudes, nearest[:, 0] / scale, nearest[:, 1])

    def _map(self, name: str) -> Any:
        """The geometry with degrees east shortened to be as long as degrees north."""
        scale = _scale(self._middles[name])
        return shapely.transform(self._geometries[name], lambda degrees: degrees * np.array([scale, 1.0]))

    def _known(self, name: str) -> Any:
        if name not in self._geometries:
            close = get_close_matches(name, self._geometries, 1)
            remedy = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(self._geometries)}"
            raise OperatorError(f"there is no place {name!r}; {remedy}")
        return self._geometries[name]


_BUILDING = threading.Lock()


def gazetteer_of(places: Places) -> Gazetteer:
    """Gazetteer of these places, built at the first call in a process and cached."""
    with _BUILDING:
        return _built(places)


@lru_cache(maxsize=16)
def _built(places: Places) -> Gazetteer:
    return Gazetteer(
        places.names, [_geometry(name, text) for name, text in zip(places.names, places.texts, strict=True)]
    )


def _geometry(name: str, text: str) -> Any:
    try:
        geometry = shapely.from_geojson(text) if text.lstrip().startswith("{") else shapely.from_wkt(text)
    except shapely.errors.ShapelyError as error:
        raise OperatorError(f"the geometry of {name!r} cannot be read: {error}") from error
    if geometry is None or geometry.is_empty:
        raise OperatorError(f"the geometry of {name!r} is empty")
    west, south, east, north = geometry.bounds
    if not (-180 <= west <= east <= 180 and -90 <= south <= north <= 90):
        raise OperatorError(f"the geometry of {name!r} is not in degrees of longitude and latitude: {geometry.bounds}")
    if not geometry.is_valid:
        raise OperatorError(f"the geometry of {name!r} is not valid: {shapely.is_valid_reason(geometry)}")
    return geometry


def _scale(middle: Any) -> float:
    """Length of a degree east beside a degree north."""
    return max(float(np.cos(np.radians(middle.y))), 1e-6)


# Operators on an event's place: the regions it is in, its distance from a landmark.

_MILLISECONDS = 0.005


class Spatial(NamedTuple):
    """Spatial operators over one set of places; `operators=[*spatial("places.geojson")]` hands over all."""

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
    """Functions of the operators over one set of places. Travels to other processes as the places' texts."""

    places: Places

    def gazetteer(self) -> Gazetteer:
        return gazetteer_of(self.places)

    def loc_in(self, longitude: pa.Array, latitude: pa.Array, place: str = Var) -> pa.Array | pa.Table:
        """True if the event is in a region, its edge included; `loc_in(?region)` binds every region it is in."""
        gazetteer, degrees = self.gazetteer(), _degrees(longitude, latitude)
        if place is not Var:
            return pa.array(gazetteer.within(place, *degrees))
        rows, areas = gazetteer.areas_around(*degrees)
        names = pa.array(gazetteer.area_names(), pa.string()).take(pa.array(areas))
        return answer(len(longitude), rows, place=Found(place, names))

    def loc_within(self, longitude: pa.Array, latitude: pa.Array, place: str, metres: float) -> pa.Array:
        """True if the event is at most so many metres from a place along the ground; in a region it is at 0."""
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
