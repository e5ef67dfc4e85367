"""Event schemas: domains, attributes and event types, validation, extension rules, and the mapping to Arrow."""

from tamis.errors import Violation
from tamis.schema.checking import Checked
from tamis.schema.domains import (
    EVENT_TYPE,
    Annotation,
    Attribute,
    BinaryDomain,
    BooleanDomain,
    Domain,
    EnumeratedDomain,
    EventType,
    FloatDomain,
    HierarchicalDomain,
    IntegerDomain,
    StringDomain,
    TimestampDomain,
)
from tamis.schema.model import Schema
from tamis.schema.tables import OPERATION, Retention, Table

__all__ = [
    "EVENT_TYPE",
    "OPERATION",
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
    "Retention",
    "Schema",
    "StringDomain",
    "Table",
    "TimestampDomain",
    "Violation",
]
