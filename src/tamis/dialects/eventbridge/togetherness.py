"""Fields of one object in an array: what event-ruler holds together, and a filter does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, takewhile
from typing import Any

from tamis.dialects.eventbridge.reading import Field, Node, fields, read
from tamis.language.tree import And
from tamis.schema import Schema

_ENVELOPE = "detail"


def loosened(pattern: Mapping[str, Any] | str, schema: Schema) -> list[str]:
    """Sentences on what the pattern's filter cannot keep, one for each array of objects; empty where nothing is lost.

    event-ruler asks that conditions on members of an array's objects hold for one object. In Tamis each may hold for
    another one. Where neither of two attributes has several values, no array is expected.

    >>> several = {"detail.jobs.id": ["optional", "multiple"], "detail.jobs.state": ["optional", "multiple"]}
    >>> schema = Schema.from_dict({"attributes": dict.fromkeys(several, "string"), "event_types": {"event": several}})
    >>> loosened({"detail": {"jobs": {"id": ["a"], "state": ["on"]}}}, schema)
    ['detail.jobs: if this is an array, the conditions on id and state may hold for different objects of it']
    """
    shared: dict[str, list[str]] = {}
    for first, second in _together(read(pattern)):
        parent = _parent(first, second)
        if parent in ("", _ENVELOPE) or not (_is_multiple(first, schema) or _is_multiple(second, schema)):
            continue
        members = shared.setdefault(parent, [])
        members += [name for name in (first, second) if name not in members]
    return [
        f"{parent}: if this is an array, the conditions on "
        f"{' and '.join(name.removeprefix(f'{parent}.') for name in names)} may hold for different objects of it"
        for parent, names in shared.items()
    ]


def _together(node: Node) -> Iterator[tuple[str, str]]:
    """The pairs of fields that the pattern asks for at once."""
    if isinstance(node, Field):
        return
    if isinstance(node, And):
        names = [[field.name for field in fields(item)] for item in node.items]
        for left, right in combinations(names, 2):
            yield from ((first, second) for first in left for second in right)
    for item in node.items:
        yield from _together(item)


def _parent(first: str, second: str) -> str:
    """The object that both names lead into."""
    steps = zip(first.split(".")[:-1], second.split(".")[:-1], strict=False)
    return ".".join(left for left, _ in takewhile(lambda step: step[0] == step[1], steps))


def _is_multiple(name: str, schema: Schema) -> bool:
    attribute = schema.attributes.get(name)
    return attribute is not None and attribute.multiple
