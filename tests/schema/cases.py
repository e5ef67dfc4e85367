"""What the schema's tests share: Le Subscribe's auctions, spoiled events, and batches as plain dicts."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tamis.schema import EVENT_TYPE, Checked, Schema
from tamis.testing import events

DOMAINS: dict[str, Any] = {
    "period": {
        "type": "enumerated",
        "values": ["XVI", "XVII", "XVIII"],
        "order": [["XVI", "XVII"], ["XVII", "XVIII"]],
    },
    "furniture": {
        "type": "hierarchical",
        "tree": {"bedroom": {"bed": {}}, "dining_room": {"table": {}, "chair": {}}},
    },
}
FORM: dict[str, Any] = {
    "domains": DOMAINS,
    "attributes": {
        "price": "float",
        "quantity": "integer",
        "sold": "boolean",
        "opened": "timestamp",
        "title": "string",
        "tags": "string",
        "period": "period",
        "furniture_category": "furniture",
        "seller.rating": "integer",
    },
    "event_types": {
        "antiques": {"price": "mandatory", "quantity": "mandatory", "period": "mandatory", "title": "optional"},
        "furniture": {
            "price": "mandatory",
            "quantity": "mandatory",
            "furniture_category": "mandatory",
            "tags": ["optional", "multiple"],
            "seller.rating": "optional",
            "sold": "optional",
            "opened": "optional",
        },
    },
}
AUCTIONS = Schema.from_dict(FORM)
CHAIR: dict[str, Any] = {"event_type": "furniture", "price": 20.0, "quantity": 4, "furniture_category": "chair"}

Named = list[tuple[int, str, str]]


def one_attribute(definition: object, annotation: object = "optional") -> Schema:
    """A schema of one event type with one attribute, x."""
    return Schema.from_dict({"attributes": {"x": definition}, "event_types": {"event": {"x": annotation}}})


def rules(schema: Schema, event: Any) -> list[tuple[str, str]]:
    """What is wrong with an event: (attribute, rule)."""
    return [(violation.attribute, violation.rule) for violation in schema.violations(event)]


def as_dicts(batch: pa.RecordBatch) -> list[dict[str, list[Any]]]:
    """The rows of a canonical batch: the values of what is present, timestamps in microseconds."""
    rows: list[dict[str, list[Any]]] = [{} for _ in range(batch.num_rows)]
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        elif pa.types.is_list(column.type) and pa.types.is_timestamp(column.type.value_type):
            column = column.cast(pa.list_(pa.int64()))
        for row, cell in zip(rows, column.to_pylist(), strict=True):
            values = cell if isinstance(cell, list) else [] if cell is None else [cell]
            if values:
                row[name] = values
    return rows


def named(checked: Checked) -> Named:
    """The violations of a check, sorted: (event, attribute, rule)."""
    columns = checked.violations.select(["event", "attribute", "rule"]).to_pydict()
    return sorted(zip(*columns.values(), strict=True))


def assert_agrees(schema: Schema, checked: Checked, rows: list[Any], expected: Named) -> None:
    """A check gave exactly these violations, and the other rows with the values they have on their own."""
    assert named(checked) == sorted(expected)
    bad = {event for event, _, _ in expected}
    valid = [row for row in range(len(rows)) if row not in bad]
    assert checked.valid_rows.to_pylist() == valid
    assert as_dicts(checked.valid) == as_dicts(schema.to_arrow([rows[row] for row in valid]))


# Values that some domain refuses, and some that look as if it should.
STRANGE: tuple[Any, ...] = (
    True, 0, 1, -7, 2**53 + 1, 2**60, 2**63, -(2**63) - 1, 10**400, 1.0, 1.5, -0.0, 1e300, 2.0**63, math.nan, math.inf,
    "", "x", "1", "true", "2024-05-01", "2024-05-01T10:00:00Z", "2024-02-30", "0000-01-01", "20240501",
    "2024-05-01T10:00:00.123456789+02:00", "\ud800", "NaN", [], [None], [1], ["x"], [1, "x"], [[1]], [{"a": 1}],
    {}, {"a": None}, {"a": 1}, {"rating": 3}, None,
)  # fmt: skip
UNWRITABLE: tuple[Any, ...] = (
    datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 5, 1), date(2024, 5, 1), Decimal("1.5"), Decimal("7"),
    Decimal("NaN"), Decimal("1e1000"), b"x", object(), (1,), {1}, 10**5000, np.array(7), np.array([1, 2]), np.array([]),
    np.datetime64("NaT"), np.array([[1]]), range(3),
)  # fmt: skip


@st.composite
def spoiled_events(draw: st.DrawFn, schema: Schema, strange: tuple[Any, ...] = STRANGE) -> dict[str, Any]:
    """Events that were valid before something was left out, put in or replaced; some still are."""
    event: dict[str, Any] = draw(events(schema))
    for _ in range(draw(st.integers(0, 3))):
        names = st.sampled_from([*schema.attributes, "nowhere", "seller", "seller.name"])
        name = draw(names)
        match draw(st.sampled_from(("drop", "put", "put", "several", "types"))):
            case "drop":
                event.pop(name, None)
            case "put":
                event[name] = draw(st.sampled_from(strange))
            case "several":
                event[name] = draw(st.lists(st.sampled_from(strange), max_size=3))
            case "types":
                event[EVENT_TYPE] = draw(
                    st.one_of(st.sampled_from([*schema.event_types, "unknown"]), st.just(list(schema.event_types)))
                )
    return event
