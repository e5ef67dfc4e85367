"""Named places as they are given: GeoJSON, or WKT by name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tamis.errors import OperatorError
from tamis.quoting import shown
from tamis.yaml_loading import load

SAMPLE = Path(__file__).with_name("new_york.geojson")
"""New York's five boroughs, outlined by hand for examples (right to a few hundred metres), and some landmarks."""

_FORMS = "a GeoJSON FeatureCollection (.geojson, .json) or a YAML mapping of names to WKT (.yaml)"


@dataclass(frozen=True)
class Places:
    """Names, sorted, and for each its geometry as text: WKT, or a GeoJSON geometry.

    Self-contained: it travels to other processes, where geometries are made of it once (see gazetteer.py).
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
