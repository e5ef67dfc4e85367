"""How a publisher writes its events, learned from a few of them, so that Arrow can be told the types beforehand.

The shape only makes bulk parsing likely to succeed. An event of another shape is read one by one, to the same effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tamis.schema.attributes import Attribute

if TYPE_CHECKING:
    from tamis.schema.model import Schema

Path = tuple[str | None, ...]
"""Keys on the way to a value; None after a key whose value is a list, into each of whose objects the way goes on."""

_EACH = None
Tree = dict[str | None, Any]
# Every further key may double the number of groups.
_MOST_MIXED = 4


def learn_shape(schema: Schema, samples: Iterable[object]) -> pa.Schema:
    """The columns to expect: each attribute where and as the samples have it, nested by its dots if none does."""
    root: Tree = {}
    met = set()
    for path, values in _seen(schema, samples).items():
        name = _name(path)
        met.add(name)
        _plant(root, path, _expected(schema.attributes[name], values))
    for name, attribute in schema.attributes.items():
        if name not in met:
            _plant(root, tuple(name.split(".")), _expected(attribute, []))
    return pa.schema(_fields(root))


def mixed_keys(schema: Schema, samples: Iterable[object]) -> list[str]:
    """The keys that the samples follow with an array here and a scalar or an object there, or with a string and a
    number."""
    writings: dict[tuple[str, ...], set[object]] = {}
    for path, values in _seen(schema, samples).items():
        for place, key in enumerate(path[:-1]):
            if key is not _EACH:
                writings.setdefault(_keys(path[: place + 1]), set()).add(list if path[place + 1] is _EACH else dict)
        writings.setdefault(_keys(path), set()).update(map(_writing, values))
    return sorted({keys[-1] for keys, found in writings.items() if len(found) > 1})[:_MOST_MIXED]


def _writing(value: object) -> type:
    return float if isinstance(value, int) else type(value)


def _seen(schema: Schema, samples: Iterable[object]) -> dict[Path, list[object]]:
    """What the samples have at each path that leads to an attribute."""
    seen: dict[Path, list[object]] = {}
    for sample in samples:
        if isinstance(sample, Mapping):
            for path, value in _leaves(sample, (), schema.solitary):
                if _name(path) in schema.attributes:
                    seen.setdefault(path, []).append(value)
    return seen


def _keys(path: Path) -> tuple[str, ...]:
    return tuple(key for key in path if key is not None)


def _name(path: Path) -> str:
    return ".".join(_keys(path))


def _leaves(value: object, path: Path, solitary: Collection[str]) -> Iterator[tuple[Path, object]]:
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _leaves(member, (*path, key), solitary)
    elif isinstance(value, list) and _holds_objects(value) and _name(path) not in solitary:
        for item in value:
            if isinstance(item, Mapping | list):
                yield from _leaves(item, (*path, _EACH), solitary)
    elif value is not None and path[-1] is not _EACH:
        yield path, value


def _holds_objects(value: list[object]) -> bool:
    return any(isinstance(item, Mapping) or (isinstance(item, list) and _holds_objects(item)) for item in value)


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


def _plant(root: Tree, path: Path, kind: pa.DataType) -> None:
    """Put a leaf into the tree, unless one attribute's leaf stands on another's way: then it goes without."""
    node = root
    for place, key in enumerate(path):
        while key is not _EACH and _EACH in node:
            # No sample has it: it is expected beside its neighbours, once in each object of their list.
            node = node[_EACH]
            kind = kind.value_type if pa.types.is_list(kind) else kind
        if place == len(path) - 1:
            node.setdefault(key, kind)
            return
        child = node.setdefault(key, {})
        if not isinstance(child, dict):
            return
        node = child


def _fields(node: Tree) -> list[pa.Field]:
    return [pa.field(str(name), _kind(child)) for name, child in node.items()]


def _kind(node: Any) -> pa.DataType:
    if not isinstance(node, dict):
        return node
    return pa.list_(_kind(node[_EACH])) if _EACH in node else pa.struct(_fields(node))
