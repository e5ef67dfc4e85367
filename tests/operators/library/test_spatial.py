"""Where an event is."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.errors import OperatorError

shapely = pytest.importorskip("shapely", reason="the extra `spatial` is not installed")

from geographiclib.geodesic import Geodesic  # noqa: E402

from tamis.operators.library.spatial import distance_from, loc_in, loc_within, spatial  # noqa: E402
from tamis.operators.library.spatial import gazetteer as gazetteers  # noqa: E402
from tamis.operators.library.spatial.gazetteer import (  # noqa: E402
    SAMPLE,
    distances,
    gazetteer_of,
    read_places,
)

YANKEE_STADIUM, TIMES_SQUARE, LIBERTY_ISLAND = (-73.9262, 40.8296), (-73.9851, 40.7580), (-74.0445, 40.6900)
BOROUGHS = ("Bronx", "Brooklyn", "Manhattan", "Queens", "Staten Island")

longitudes = st.floats(-180, 180)
latitudes = st.floats(-90, 90)


def columns(*points: tuple[float, float]) -> tuple[pa.Array, pa.Array]:
    return pa.array([longitude for longitude, _ in points]), pa.array([latitude for _, latitude in points])


def geodesic(one: tuple[float, float], other: tuple[float, float]) -> float:
    return float(Geodesic.WGS84.Inverse(one[1], one[0], other[1], other[0], Geodesic.DISTANCE)["s12"])


def test_an_event_is_in_the_region_it_is_in() -> None:
    here = columns(YANKEE_STADIUM, TIMES_SQUARE, LIBERTY_ISLAND)
    assert loc_in(*here, "Bronx").to_pylist() == [True, False, False]
    assert loc_in(*here, "Manhattan").to_pylist() == [False, True, False]


def test_a_variable_binds_every_region_around_the_event() -> None:
    here = columns(YANKEE_STADIUM, LIBERTY_ISLAND, TIMES_SQUARE)
    assert loc_in(*here, tamis.Var).to_pylist() == [{"row": 0, "place": "Bronx"}, {"row": 2, "place": "Manhattan"}]


def test_regions_that_overlap_are_all_bound_in_order() -> None:
    nested = spatial({"town": "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))", "park": "POLYGON ((1 1, 2 1, 2 2, 1 2, 1 1))"})
    assert nested.loc_in(*columns((1.5, 1.5), (3, 3)), tamis.Var).to_pylist() == [
        {"row": 0, "place": "park"},
        {"row": 0, "place": "town"},
        {"row": 1, "place": "town"},
    ]


def test_the_edge_of_a_region_belongs_to_it() -> None:
    square = spatial({"square": "POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))"})
    on_the_edge = columns((1, 0.5), (0, 0), (1.0000001, 0.5))
    assert square.loc_in(*on_the_edge, "square").to_pylist() == [True, True, False]
    assert square.loc_in(*on_the_edge, tamis.Var)["row"].to_pylist() == [0, 1]


@given(st.lists(st.tuples(st.floats(-74.3, -73.7), st.floats(40.45, 40.95)), min_size=1, max_size=40))
def test_the_tree_of_regions_says_what_each_region_says(points: list[tuple[float, float]]) -> None:
    here = columns(*points)
    bound = {(each["row"], each["place"]) for each in loc_in(*here, tamis.Var).to_pylist()}
    alone = {(row, name) for name in BOROUGHS for row, held in enumerate(loc_in(*here, name).to_pylist()) if held}
    assert bound == alone


@given(longitudes, latitudes, longitudes, latitudes)
def test_distances_are_those_of_geographiclib(x1: float, y1: float, x2: float, y2: float) -> None:
    (metres,) = distances(*(np.array([each]) for each in (x1, y1, x2, y2)))
    assert metres == pytest.approx(geodesic((x1, y1), (x2, y2)), abs=2e-4)


@given(longitudes, st.floats(-89, 89), st.floats(-0.6, 0.6), st.floats(-0.6, 0.6))
def test_distances_to_the_other_side_of_the_earth_are_right_too(x: float, y: float, dx: float, dy: float) -> None:
    opposite = ((x + 180 + dx + 180) % 360 - 180, -y + dy)
    (metres,) = distances(*(np.array([each]) for each in (x, y, *opposite)))
    assert metres == pytest.approx(geodesic((x, y), opposite), abs=2e-4)


def test_known_distances() -> None:
    bound = distance_from(*columns(TIMES_SQUARE, LIBERTY_ISLAND), "Statue of Liberty", tamis.Var).to_pylist()
    assert [each["row"] for each in bound] == [0, 1]
    assert bound[0]["metres"] == pytest.approx(9143, abs=5)
    assert bound[1]["metres"] == pytest.approx(83, abs=5)


def test_a_region_is_as_far_as_its_nearest_edge_and_at_zero_inside() -> None:
    square = spatial({"square": "POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))"})
    bound = square.distance_from(*columns((0.5, 0.5), (0.5, -0.1), (-1, 0.5), (1.3, 1.4)), "square", tamis.Var)
    expected = [0, geodesic((0.5, -0.1), (0.5, 0)), geodesic((-1, 0.5), (0, 0.5)), geodesic((1.3, 1.4), (1, 1))]
    assert bound["metres"].to_pylist() == pytest.approx(expected, rel=1e-3)


@given(st.floats(-75, -73), st.floats(40, 41.6))
def test_the_distance_of_a_region_is_hardly_too_far_and_never_too_near(longitude: float, latitude: float) -> None:
    (metres,) = distance_from(*columns((longitude, latitude)), "Bronx", tamis.Var)["metres"].to_pylist()
    area = shapely.from_geojson(dict(zip(*_texts(), strict=True))["Bronx"])
    edge = shapely.get_coordinates(shapely.segmentize(area.exterior, 0.001))
    nearest = float(distances(longitude, latitude, edge[:, 0], edge[:, 1]).min())
    inside = area.contains(shapely.Point(longitude, latitude))
    # The edge is looked at every hundred metres or so.
    assert metres == 0 if inside else nearest - 100 <= metres <= nearest * 1.01 + 1


def test_a_region_across_the_date_line_is_near_from_both_sides() -> None:
    east = spatial({"Taveuni": "POLYGON ((179.8 -17, 180 -17, 180 -16.7, 179.8 -16.7, 179.8 -17))"})
    (metres,) = east.distance_from(*columns((-179.9, -16.8)), "Taveuni", tamis.Var)["metres"].to_pylist()
    assert metres == pytest.approx(geodesic((-179.9, -16.8), (180, -16.8)), rel=1e-3)


PACIFIC = {
    "Fiji": "MULTIPOLYGON (((177 -19, 180 -19, 180 -16, 177 -16, 177 -19)),"
    " ((-180 -19, -178 -19, -178 -16, -180 -16, -180 -19)))",
    "Arctic": "POLYGON ((-180 66, 180 66, 180 90, -180 90, -180 66))",
    "wedge": "POLYGON ((0 80, 10 80, 10 90, 0 90, 0 80))",
}


def test_a_region_on_both_sides_of_the_date_line_is_one() -> None:
    operators = spatial(PACIFIC)
    here = columns((178, -17), (-179, -17), (180, -17), (-180, -17), (176, -17), (-177, -17), (0, -17))
    held = operators.loc_in(*here, "Fiji").to_pylist()
    assert held == [True] * 4 + [False] * 3
    metres = operators.distance_from(*here, "Fiji", tamis.Var)["metres"].to_pylist()
    one_degree = geodesic((176, -17), (177, -17))
    assert metres[:4] == [0] * 4
    assert metres[4:6] == pytest.approx([one_degree] * 2, rel=1e-3)
    assert metres[6] > 100 * one_degree


def test_a_spot_on_the_date_line_or_at_a_pole_is_one_spot_under_any_longitude() -> None:
    east = spatial({"Taveuni": "POLYGON ((179.8 -17, 180 -17, 180 -16.7, 179.8 -16.7, 179.8 -17))", **PACIFIC})
    here = columns((180, -16.8), (-180, -16.8), (-180, 70), (50, 90), (-180, 90), (5, 90), (5, -90), (-180, -90))
    bound: list[set[str]] = [set() for _ in range(8)]
    for each in east.loc_in(*here, tamis.Var).to_pylist():
        bound[each["row"]].add(each["place"])
    polar = {"Arctic", "wedge"}
    assert bound == [{"Taveuni", "Fiji"}, {"Taveuni", "Fiji"}, {"Arctic"}, polar, polar, polar, set(), set()]
    for name in ("Taveuni", *PACIFIC):
        assert east.loc_in(*here, name).to_pylist() == [name in each for each in bound]


@given(longitudes, latitudes)
def test_every_spot_of_the_earth_has_a_distance_of_everything(longitude: float, latitude: float) -> None:
    operators = spatial(PACIFIC)
    here = columns((longitude, latitude))
    for name in PACIFIC:
        (metres,) = operators.distance_from(*here, name, tamis.Var)["metres"].to_pylist()
        assert 0 <= metres < 20_100_000
        if operators.loc_in(*here, name)[0].as_py():
            assert metres < 1e-3


def test_within_a_number_of_metres_is_a_distance_of_at_most_so_many() -> None:
    here = columns(TIMES_SQUARE, YANKEE_STADIUM, LIBERTY_ISLAND)
    exact = distance_from(*here, "Times Square", tamis.Var)["metres"].to_pylist()
    for metres in (5000, exact[1], exact[2]):
        assert loc_within(*here, "Times Square", metres).to_pylist() == [each <= metres for each in exact]


@pytest.mark.parametrize(
    ("point", "said"), [((0, 91), "latitude 91"), ((-181, 0), "longitude -181"), ((0, np.nan), "nan")]
)
def test_what_is_nowhere_on_earth_is_refused(point: tuple[float, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        loc_in(*columns((0, 0), point), "Bronx")


def test_integers_are_degrees_too() -> None:
    assert loc_in(pa.array([-74]), pa.array([41]), "Bronx").to_pylist() == [False]


def test_no_events_have_no_places() -> None:
    none = (pa.array([], pa.float64()), pa.array([], pa.float64()))
    assert len(loc_in(*none, "Bronx")) == len(loc_in(*none, tamis.Var)) == 0
    assert len(distance_from(*none, "Bronx", tamis.Var)) == len(loc_within(*none, "Times Square", 5)) == 0


def test_filters_may_name_the_places_there_are() -> None:
    choices = {each.name: each.formals[2].parameter.choices for each in (loc_in, loc_within)}
    assert choices["loc_in"] == BOROUGHS
    assert {"Bronx", "Times Square", "Statue of Liberty"} < set(choices["loc_within"])


def test_a_place_that_is_not_there_is_refused_with_a_close_name() -> None:
    with pytest.raises(OperatorError, match="did you mean 'Bronx'"):
        loc_in(*columns(TIMES_SQUARE), "Bronks")
    with pytest.raises(OperatorError, match="nothing lies in it"):
        loc_in(*columns(TIMES_SQUARE), "Times Square")


def test_places_come_from_geojson_from_wkt_and_from_a_mapping(tmp_path: Path) -> None:
    square = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}
    feature = {"type": "Feature", "properties": {"name": "one"}, "geometry": square}
    (tmp_path / "a.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    (tmp_path / "b.yaml").write_text("one: POLYGON ((0 0, 1 0, 1 1, 0 0))\n")
    for source in (tmp_path / "a.geojson", str(tmp_path / "b.yaml"), {"one": "POLYGON ((0 0, 1 0, 1 1, 0 0))"}):
        operators = spatial(source)
        assert operators.loc_in(*columns((0.6, 0.5), (0.4, 0.5)), "one").to_pylist() == [True, False]
        assert operators.loc_in.formals[2].parameter.choices == ("one",)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.geojson", '{"type": "Point"}', "no features"),
        ("a.geojson", '{"features": [{"geometry": {}}]}', "feature 0"),
        ("a.geojson", '{"features": [3]}', "cannot be read"),
        ("a.geojson", '{"features": [{"geometry": 3, "properties": {"name": "a"}}]}', "cannot be read"),
        ("a.geojson", "[" * 100_000, "cannot be read"),
        ("a.geojson", "{", "cannot be read"),
        ("a.yaml", "- one", "cannot be read"),
        ("a.yaml", "one: 3", "as text"),
        ("a.yaml", "{}", "no place"),
        ("a.shp", "", "GeoJSON"),
    ],
)
def test_a_file_that_holds_no_places_is_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(OperatorError, match=said):
        spatial(tmp_path / name)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ({"a": "POLYGON ((0 0"}, "cannot be read"),
        ({"a": "POLYGON EMPTY"}, "empty"),
        ({"a": "POLYGON ((0 0, 500 0, 500 500, 0 0))"}, "not in degrees"),
        ({"a": "POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))"}, "not valid"),
        ({"a": "POLYGON ((0 0, nan nan, 1 1, 0 0))"}, "the geometry of 'a'"),
        ({"a": '{"type": "Point", "coordinates": ["x"]}'}, "cannot be read"),
        ({"a": '{"type": "Cube"}'}, "cannot be read"),
        ({"a": "nowhere"}, "cannot be read"),
    ],
)
def test_a_geometry_that_is_none_is_refused_when_it_is_given(places: Mapping[str, str], said: str) -> None:
    with pytest.raises(OperatorError, match=said):
        spatial(places)


def test_two_places_of_one_name_are_refused(tmp_path: Path) -> None:
    feature = {"properties": {"name": "one"}, "geometry": {"type": "Point", "coordinates": [0, 0]}}
    (tmp_path / "a.json").write_text(json.dumps({"features": [feature, feature]}))
    with pytest.raises(OperatorError, match="two places 'one'"):
        spatial(tmp_path / "a.json")


def test_attributes_may_have_other_names() -> None:
    operators = spatial(longitude="position.lon", latitude="position.lat")
    assert operators.distance_from.reads == {"longitude": "position.lon", "latitude": "position.lat"}


def test_operators_travel_and_geometries_are_made_once_a_process() -> None:
    before = gazetteers._built.cache_info().misses
    places = spatial({"here": "POLYGON ((10 10, 11 10, 11 11, 10 10))"})
    travelled = pickle.loads(pickle.dumps(places.loc_in))
    for _ in range(3):
        assert travelled(*columns((10.6, 10.5)), "here").to_pylist() == [True]
        assert places.loc_within(*columns((10.6, 10.5)), "here", 1.0).to_pylist() == [True]
    assert gazetteers._built.cache_info().misses == before + 1


def test_threads_that_come_at_once_share_one_set_of_geometries() -> None:
    places = read_places({"there": "POINT (1 2)"})
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(gazetteer_of(places))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_other_places_are_another_version() -> None:
    one, other = spatial({"a": "POINT (1 2)"}), spatial({"a": "POINT (1 3)"})
    assert one.loc_within.version != other.loc_within.version
    assert one.loc_within.version == spatial({"a": "POINT (1 2)"}).loc_within.version


def test_boroughs_of_the_sample_share_no_ground() -> None:
    areas = [shapely.from_geojson(text) for name, text in zip(*_texts(), strict=True) if name in BOROUGHS]
    assert len(areas) == 5
    assert sum(area.area for area in areas) == pytest.approx(shapely.union_all(areas).area, rel=1e-9)


def _texts() -> tuple[tuple[str, ...], tuple[str, ...]]:
    places = read_places(SAMPLE)
    return places.names, places.texts
