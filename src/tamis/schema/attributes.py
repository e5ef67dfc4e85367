"""Attributes, event types, and the view that an event of several types is checked through (Fabret et al., §2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from tamis.schema.domains import Domain

EVENT_TYPE = "event_type"


@dataclass(frozen=True, slots=True)
class Attribute:
    """A name and its domain. `number` is its position in `schema.attributes` and never changes under extension.

    `multiple` says whether an event may give it several values: whether some event type marks it so.
    """

    name: str
    domain: Domain
    multiple: bool
    number: int

    @property
    def arrow_type(self) -> pa.DataType:
        """The canonical column's type."""
        return pa.list_(self.domain.arrow_type) if self.multiple else self.domain.arrow_type


@dataclass(frozen=True, slots=True)
class Annotation:
    """How an event type holds an attribute. Two annotations of one attribute join with `|` in a view."""

    mandatory: bool
    multiple: bool = False

    def __or__(self, other: Annotation) -> Annotation:
        return Annotation(self.mandatory or other.mandatory, self.multiple or other.multiple)

    def __str__(self) -> str:
        presence = "mandatory" if self.mandatory else "optional"
        return f"[{presence}, multiple]" if self.multiple else presence


@dataclass(frozen=True, slots=True)
class EventType:
    """A named event schema: the attributes its events may have, and how. `event_type` itself is never listed."""

    name: str
    annotations: Mapping[str, Annotation]


def view(event_types: Iterable[EventType]) -> dict[str, Annotation]:
    """What an event of all these types must and may have: mandatory and multiple take priority."""
    joined: dict[str, Annotation] = {}
    for event_type in event_types:
        for name, annotation in event_type.annotations.items():
            known = joined.get(name)
            joined[name] = annotation if known is None else known | annotation
    return joined
