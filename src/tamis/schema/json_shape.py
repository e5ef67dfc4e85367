"""How a publisher writes its events, learned from a few of them, so that Arrow can be told the types beforehand.

The shape only makes bulk parsing likely to succeed. An event of another shape is read one by one, to the same effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from tamis.schema.attributes import Attribute

if TYPE_CHECKING:
    from tamis.schema.model import Schema

Path = tuple[str, ...]
# Every further key may double the number of groups.
_MOST_MIXED = 4


def learn_shape(schema: Schema, samples: Iterable[object]) -> pa.Schema:
    """The columns to expect: each attribute where and as the samples have it, nested by its dots if none does."""
    root: dict[str, object] = {}
    met = set()
    for path, values in _seen(schema, samples).items():
        name = ".".join(path)
        met.add(name)
        _plant(root, path, _expected(schema.attributes[name], values))
    for name, attribute in schema.attributes.items():
        if name not in met:
            _plant(root, tuple(name.split(".")), _expected(attribute, []))
    return pa.schema(_fields(root))


def mixed_keys(schema: Schema, samples: Iterable[object]) -> list[str]:
    """The keys that the samples follow with an array here and a scalar there, or with a string and a number."""
    return sorted(
        {path[-1] for path, values in _seen(schema, samples).items() if len({_writing(value) for value in values}) > 1}
    )[:_MOST_MIXED]


def _writing(value: object) -> type:
    return float if isinstance(value, int) else type(value)


def _seen(schema: Schema, samples: Iterable[object]) -> dict[Path, list[object]]:
    """What the samples have at each path that leads to an attribute."""
    seen: dict[Path, list[object]] = {}
    for sample in samples:
        if isinstance(sample, Mapping):
            for path, value in _leaves(sample, ()):
                if ".".join(path) in schema.attributes:
                    seen.setdefault(path, []).append(value)
    return seen


def _leaves(members: Mapping[str, object], path: Path) -> Iterator[tuple[Path, object]]:
    for key, value in members.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, key))
        elif value is not None:
            yield (*path, key), value


def _expected(attribute: Attribute, values: list[object]) -> pa.DataType:
    lists = [value for value in values if isinstance(value, list)]
    items = [value for value in values if not isinstance(value, list)] + [item for items in lists for item in items]
    kind = attribute.domain.arrow_type
    if attribute.domain.kind == "integer" and any(isinstance(item, float) for item in items):
        kind = pa.float64()
    elif attribute.domain.kind == "timestamp":
        numbers = any(isinstance(item, int) for item in items)
        kind = pa.int64() if numbers else pa.string()
    elif attribute.domain.kind == "binary":
        kind = pa.string()
    several = len(lists) * 2 > len(values) if values else attribute.multiple
    return pa.list_(kind) if several else kind


def _plant(root: dict[str, object], path: Path, kind: pa.DataType) -> None:
    """Put a leaf into the tree, unless one attribute's leaf stands on another's way: then it goes without."""
    node = root
    for key in path[:-1]:
        child = node.setdefault(key, {})
        if not isinstance(child, dict):
            return
        node = child
    node.setdefault(path[-1], kind)


def _fields(node: Mapping[str, object]) -> list[pa.Field]:
    return [
        pa.field(name, pa.struct(_fields(child)) if isinstance(child, dict) else child) for name, child in node.items()
    ]
