"""The schema room: domains, attributes, event types, validation, extension, and the mapping to Arrow."""

from tamis.errors import Violation
from tamis.schema.attributes import EVENT_TYPE, Annotation, Attribute, EventType
from tamis.schema.checking import Checked
from tamis.schema.domains import (
    BinaryDomain,
    BooleanDomain,
    Domain,
    EnumeratedDomain,
    FloatDomain,
    HierarchicalDomain,
    IntegerDomain,
    StringDomain,
    TimestampDomain,
)
from tamis.schema.model import Schema

__all__ = [
    "EVENT_TYPE",
    "Annotation",
    "Attribute",
    "BinaryDomain",
    "BooleanDomain",
    "Checked",
    "Domain",
    "EnumeratedDomain",
    "EventType",
    "FloatDomain",
    "HierarchicalDomain",
    "IntegerDomain",
    "Schema",
    "StringDomain",
    "TimestampDomain",
    "Violation",
]
