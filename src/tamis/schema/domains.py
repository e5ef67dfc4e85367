"""Domains, attributes and event types: the values an attribute may take, and the meaning of `<` among them.

A domain is immutable and compares by what it admits, not by its name: two domains with the same values and order are
equal. `name` is the name it was declared under, the kind for the six plain ones, and empty for one written inline.

Attributes have a domain; event types have attributes, and a view has the combined requirements of an event of several
types (Fabret et al., §2.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import pyarrow as pa

from tamis.errors import SchemaError
from tamis.errors import shown as shown_value

ORDER_OPERATORS = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class IntegerDomain:
    """Domain of 64-bit signed integers."""

    kind: ClassVar[str] = "integer"
    arrow_type: ClassVar[pa.DataType] = pa.int64()
    name: str = field(default="integer", compare=False)


@dataclass(frozen=True)
class FloatDomain:
    """Domain of 64-bit floats, infinities included, NaN not."""

    kind: ClassVar[str] = "float"
    arrow_type: ClassVar[pa.DataType] = pa.float64()
    name: str = field(default="float", compare=False)


@dataclass(frozen=True)
class StringDomain:
    """Domain of Unicode strings, ordered by code point."""

    kind: ClassVar[str] = "string"
    arrow_type: ClassVar[pa.DataType] = pa.string()
    name: str = field(default="string", compare=False)


@dataclass(frozen=True)
class BooleanDomain:
    """Domain of true and false; not numbers."""

    kind: ClassVar[str] = "boolean"
    arrow_type: ClassVar[pa.DataType] = pa.bool_()
    name: str = field(default="boolean", compare=False)


@dataclass(frozen=True)
class TimestampDomain:
    """Domain of instants, held as microseconds since the epoch, UTC."""

    kind: ClassVar[str] = "timestamp"
    arrow_type: ClassVar[pa.DataType] = pa.timestamp("us", "UTC")
    name: str = field(default="timestamp", compare=False)


@dataclass(frozen=True)
class BinaryDomain:
    """Domain of bytes, such as images: base64 in text. Filters test presence only; operators read the bytes."""

    kind: ClassVar[str] = "binary"
    arrow_type: ClassVar[pa.DataType] = pa.binary()
    name: str = field(default="binary", compare=False)


class _Listed(ABC):
    """Base of the two domains with listed values: positions, and the answers of the order by position."""

    values: tuple[str, ...]
    name: str

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {value: position for position, value in enumerate(self.values)}

    def position(self, value: str) -> int | None:
        """Position of the value in `values`; None for a value the domain does not have."""
        return self._positions.get(value)

    def satisfying(self, operator: str, value: str) -> tuple[int, ...]:
        """Sorted positions of every x in the domain with `x operator value`."""
        position = self.position(value)
        if position is None:
            raise SchemaError(
                f"domain {self.name!r} has no value {shown_value(value)}", remedy=f"it has {listing(self.values)}"
            )
        if operator not in ORDER_OPERATORS:
            raise SchemaError(f"{operator!r} is no order operator", remedy="use one of < <= > >=")
        others = self._below(position) if operator[0] == "<" else self._above(position)
        return tuple(sorted([*others, position] if operator.endswith("=") else others))

    @abstractmethod
    def _below(self, position: int) -> list[int]:
        """Positions strictly below this one, in any order."""

    @abstractmethod
    def _above(self, position: int) -> list[int]:
        """Positions strictly above this one, in any order."""


@dataclass(frozen=True)
class EnumeratedDomain(_Listed):
    """Enumerated domain: listed strings with an optional partial order, given as pairs (smaller, larger).

    `x < y` is the transitive closure of the pairs, which are free of cycles. Without pairs the domain is unordered.
    """

    kind: ClassVar[str] = "enumerated"
    arrow_type: ClassVar[pa.DataType] = pa.string()
    values: tuple[str, ...]
    order: tuple[tuple[str, str], ...] = ()
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        cycle = self._find_cycle()
        if cycle:
            raise SchemaError(
                f"the order has a cycle: {' < '.join(map(repr, cycle))}", remedy="remove one of its pairs"
            )

    @property
    def ordered(self) -> bool:
        """True if `<` means anything here."""
        return bool(self.order)

    @cached_property
    def _smaller(self) -> dict[int, list[int]]:
        return self._edges(1, 0)

    @cached_property
    def _larger(self) -> dict[int, list[int]]:
        return self._edges(0, 1)

    def _edges(self, start: int, end: int) -> dict[int, list[int]]:
        edges: dict[int, list[int]] = {}
        for pair in self.order:
            edges.setdefault(self._positions[pair[start]], []).append(self._positions[pair[end]])
        return edges

    def _below(self, position: int) -> list[int]:
        return _reachable(self._smaller, position)

    def _above(self, position: int) -> list[int]:
        return _reachable(self._larger, position)

    def _find_cycle(self) -> list[str]:
        """Values along one cycle of the order, its first one repeated at the end; empty if there is none."""
        waiting = {position: len(smaller) for position, smaller in self._smaller.items()}
        ready = [position for position in range(len(self.values)) if position not in waiting]
        while ready:
            for larger in self._larger.get(ready.pop(), ()):
                waiting[larger] -= 1
                if not waiting[larger]:
                    del waiting[larger]
                    ready.append(larger)
        if not waiting:
            return []
        # Whatever still waits has a smaller value that waits too: walking down must come round.
        walk: list[int] = []
        seen: set[int] = set()
        position = min(waiting)
        while position not in seen:
            walk.append(position)
            seen.add(position)
            position = next(smaller for smaller in self._smaller[position] if smaller in waiting)
        cycle = [position, *reversed(walk[walk.index(position) :])]
        return [self.values[position] for position in cycle]


@dataclass(frozen=True)
class HierarchicalDomain(_Listed):
    """Hierarchical domain (taxonomy): a forest of categories; `x < y` is *x is a strict kind of y*.

    `values` lists the nodes in pre-order and `ends[i]` is one past the last descendant of node i, so the kinds of
    `values[i]` are the run `values[i:ends[i]]`.
    """

    kind: ClassVar[str] = "hierarchical"
    arrow_type: ClassVar[pa.DataType] = pa.string()
    ordered: ClassVar[bool] = True
    values: tuple[str, ...]
    ends: tuple[int, ...]
    name: str = field(default="", compare=False)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Position of each node's parent; -1 for a root."""
        parents: list[int] = []
        path: list[int] = []
        for position in range(len(self.values)):
            while path and self.ends[path[-1]] <= position:
                path.pop()
            parents.append(path[-1] if path else -1)
            path.append(position)
        return tuple(parents)

    def _below(self, position: int) -> list[int]:
        return list(range(position + 1, self.ends[position]))

    def _above(self, position: int) -> list[int]:
        ancestors = []
        while (position := self.parents[position]) >= 0:
            ancestors.append(position)
        return ancestors

    def tree(self) -> dict[str, object]:
        """Nested form of the forest: node → its children."""
        roots: dict[str, object] = {}
        children: list[dict[str, object]] = [{} for _ in self.values]
        for position, parent in enumerate(self.parents):
            (roots if parent < 0 else children[parent])[self.values[position]] = children[position]
        return roots


Domain = (
    IntegerDomain
    | FloatDomain
    | StringDomain
    | BooleanDomain
    | TimestampDomain
    | BinaryDomain
    | EnumeratedDomain
    | HierarchicalDomain
)

PLAIN_DOMAINS: Mapping[str, Domain] = {
    domain.kind: domain
    for domain in (IntegerDomain(), FloatDomain(), StringDomain(), BooleanDomain(), TimestampDomain(), BinaryDomain())
}


def listing(values: Sequence[str], shown: int = 8) -> str:
    """Text of some of the values, for an error message."""
    return ", ".join(map(shown_value, values[:shown])) + (", ..." if len(values) > shown else "")


def _reachable(edges: Mapping[int, Sequence[int]], start: int) -> list[int]:
    seen: set[int] = set()
    left = [start]
    while left:
        for following in edges.get(left.pop(), ()):
            if following not in seen:
                seen.add(following)
                left.append(following)
    return list(seen)


EVENT_TYPE = "event_type"


@dataclass(frozen=True, slots=True)
class Attribute:
    """Attribute of events: a name and its domain.

    `number` is its position in `schema.attributes` and never changes under extension. `multiple` is true if some event
    type allows several values.
    """

    name: str
    domain: Domain
    multiple: bool
    number: int

    @property
    def arrow_type(self) -> pa.DataType:
        """Arrow type of the canonical column."""
        return pa.list_(self.domain.arrow_type) if self.multiple else self.domain.arrow_type


@dataclass(frozen=True, slots=True)
class Annotation:
    """Annotation of an attribute in an event type. Two annotations of one attribute join with `|` in a view."""

    mandatory: bool
    multiple: bool = False

    def __or__(self, other: Annotation) -> Annotation:
        return Annotation(self.mandatory or other.mandatory, self.multiple or other.multiple)

    def __str__(self) -> str:
        presence = "mandatory" if self.mandatory else "optional"
        return f"[{presence}, multiple]" if self.multiple else presence


@dataclass(frozen=True, slots=True)
class EventType:
    """Event type: the attributes its events may have, and how. `event_type` itself is never listed."""

    name: str
    annotations: Mapping[str, Annotation]


def view(event_types: Iterable[EventType]) -> dict[str, Annotation]:
    """Attributes that an event of all these types must and may have: mandatory and multiple take priority."""
    joined: dict[str, Annotation] = {}
    for event_type in event_types:
        for name, annotation in event_type.annotations.items():
            known = joined.get(name)
            joined[name] = annotation if known is None else known | annotation
    return joined
