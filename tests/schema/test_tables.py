"""Tables: their form, what events may do to them, and how a schema gets more of them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import SchemaError
from tamis.schema import Retention, Schema, Table
from tamis.schema.tables import read_duration, write_duration

FORM: dict[str, Any] = {
    "attributes": {
        "Symbol": "string",
        "PER": "float",
        "Rating": "float",
        "Analyst": "string",
        "at": "timestamp",
        "tags": "string",
        "logo": "binary",
    },
    "event_types": {
        "Stocks": {"Symbol": "mandatory", "PER": "mandatory", "tags": ["optional", "multiple"], "logo": "mandatory"},
        "Reviews": {"Symbol": "mandatory", "Analyst": "mandatory", "Rating": "mandatory", "at": "mandatory"},
        "Ticks": {"Symbol": "mandatory", "PER": "optional"},
        "News": {"Symbol": "optional"},
    },
    "tables": {
        "Stocks": {"key": ["Symbol"], "join": ["Symbol"]},
        "Reviews": {
            "key": ["Analyst", "Symbol"],
            "join": ["Symbol"],
            "retention": {"window": "7 days", "by": "at"},
        },
        "Ticks": {"join": ["Symbol"], "retention": {"count": 3}},
    },
}
SCHEMA = Schema.from_dict(FORM)
STOCK = {"event_type": "Stocks", "Symbol": "GOOG", "PER": 51.7, "logo": b"g"}


def spoilt(table: str, **fields: Any) -> dict[str, Any]:
    form = deepcopy(FORM)
    form["tables"][table] |= fields
    return form


def test_a_table_has_a_key_join_attributes_and_a_retention() -> None:
    assert SCHEMA.tables["Stocks"] == Table(
        "Stocks", ("Symbol",), ("Symbol",), attributes=("Symbol", "PER", "tags", "logo")
    )
    reviews = SCHEMA.tables["Reviews"]
    assert reviews.key == ("Symbol", "Analyst")  # in the order of the attributes
    assert reviews.retention == Retention(window=7 * 86_400_000_000, by="at")
    assert SCHEMA.tables["Ticks"] == Table("Ticks", (), ("Symbol",), Retention(count=3), ("Symbol", "PER"))


def test_the_form_and_the_yaml_come_back() -> None:
    assert Schema.from_dict(SCHEMA.to_dict()) == SCHEMA
    again = Schema.from_yaml(SCHEMA.to_yaml())
    assert again == SCHEMA
    assert again.tables == SCHEMA.tables
    assert list(again.attributes) == list(SCHEMA.attributes)


def test_a_schema_without_tables_is_written_as_ever() -> None:
    form = {key: value for key, value in FORM.items() if key != "tables"}
    plain = Schema.from_dict(form)
    assert not plain.tables
    assert plain.to_dict() == form
    assert "operation" not in plain.attributes


def test_operation_is_an_attribute_of_tables_only() -> None:
    assert list(SCHEMA.attributes)[-1] == "operation"
    assert not SCHEMA.attributes["operation"].multiple
    assert SCHEMA.violations(STOCK | {"operation": "update"}) == []
    (violation,) = SCHEMA.violations({"event_type": "News", "operation": "insert"})
    assert violation.rule == "R3"
    (violation,) = SCHEMA.violations(STOCK | {"operation": "upsert"})
    assert violation.rule == "domain"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (FORM | {"tables": {"Stock": {}}}, r"tables\.Stock: event type 'Stock' is not defined; did you mean 'Stocks'"),
        (FORM | {"tables": ["Stocks"]}, "tables: expected a mapping"),
        (spoilt("Stocks", keys=["Symbol"]), r"tables\.Stocks\.keys: unknown key"),
        (spoilt("Stocks", key="Symbol"), r"tables\.Stocks\.key: expected a list"),
        (spoilt("Stocks", key=["Rating"]), r"tables\.Stocks\.key\[0\]: attribute of 'Stocks' 'Rating' is not"),
        (spoilt("Stocks", key=["Symbol", "Symbol"]), "'Symbol' is listed twice"),
        (spoilt("Stocks", join=["tags"]), "'tags' is optional in 'Stocks'; make it mandatory"),
        (spoilt("Stocks", join=["logo"]), "'logo' is binary"),
        (spoilt("Ticks", join=["PER"]), "'PER' is optional in 'Ticks'"),
        (spoilt("Ticks", retention="some"), "expected a mapping, found 'some'; write all, {count"),
        (spoilt("Ticks", retention={"count": 0}), r"retention\.count: 0 is no number of rows; write 1 or more"),
        (spoilt("Ticks", retention={"count": True}), "True is no number of rows"),
        (spoilt("Reviews", retention={"window": "7 days"}), r"retention: no such retention: 'window'; write all"),
        (spoilt("Reviews", retention={"window": "7 moons", "by": "at"}), "'7 moons' is no duration; write a whole"),
        (spoilt("Reviews", retention={"window": 7, "by": "at"}), "7 is no duration"),
        (spoilt("Reviews", retention={"window": "0 days", "by": "at"}), "'0 days' is no duration"),
        (spoilt("Reviews", retention={"window": "7 days", "by": "Rating"}), "'Rating' is float; choose a timestamp"),
        (FORM | {"attributes": FORM["attributes"] | {"operation": "string"}}, r"attributes\.operation: in a schema"),
        (
            FORM
            | {
                "attributes": SCHEMA.to_dict()["attributes"],
                "event_types": FORM["event_types"] | {"News": {"operation": "mandatory"}},
            },
            r"event_types\.News\.operation: .* write optional",
        ),
    ],
)
def test_a_mistake_is_placed(form: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.from_dict(form)


def test_several_values_cannot_be_a_key() -> None:
    form = deepcopy(FORM)
    form["event_types"]["News"]["Symbol"] = ["optional", "multiple"]
    with pytest.raises(SchemaError, match="'Symbol' may have several values"):
        Schema.from_dict(form)


EVENTS: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    (STOCK, []),
    (STOCK | {"operation": "insert"}, []),
    ({"event_type": "Stocks", "operation": "delete", "Symbol": "GOOG"}, []),
    ({"event_type": "Stocks", "operation": "delete", "Symbol": "GOOG", "PER": 3.5}, []),
    ({"event_type": "Stocks", "operation": "delete", "PER": 3.5}, [("Symbol", "R2")]),
    ({"event_type": "Stocks", "operation": "update", "Symbol": "GOOG"}, [("PER", "R2"), ("logo", "R2")]),
    ({"event_type": "Stocks", "operation": "delete", "Symbol": "GOOG", "Rating": 1.0}, [("Rating", "R3")]),
    ({"event_type": ["Stocks", "News"], "operation": "delete", "Symbol": "GOOG"}, []),
    ({"event_type": "Ticks", "Symbol": "GOOG"}, []),
    ({"event_type": "Ticks", "Symbol": "GOOG", "operation": "insert"}, []),
    ({"event_type": "Ticks", "Symbol": "GOOG", "operation": "update"}, [("operation", "table")]),
    ({"event_type": "Ticks", "Symbol": "GOOG", "operation": "delete"}, [("operation", "table")]),
    (STOCK | {"event_type": ["Ticks", "Stocks"]}, [("operation", "table")]),
    ({"event_type": "News"}, []),
]


def test_a_change_is_checked_for_what_it_does() -> None:
    for event, expected in EVENTS:
        assert [(found.attribute, found.rule) for found in SCHEMA.violations(event)] == expected, event


@given(st.lists(st.sampled_from(EVENTS), max_size=8))
def test_a_batch_is_checked_as_its_events_are(events: list[tuple[dict[str, Any], list[tuple[str, str]]]]) -> None:
    batch = SCHEMA.to_arrow([event for event, _ in events])
    checked = SCHEMA.check(batch)
    assert checked.valid_rows.to_pylist() == [row for row, (_, wrong) in enumerate(events) if not wrong]
    expected = [(row, *found) for row, (_, wrong) in enumerate(events) for found in wrong]
    assert [(r["event"], r["attribute"], r["rule"]) for r in checked.violations.to_pylist()] == expected


def test_deletes_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    import tamis.schema.checking as checking

    def refuse(*_: object) -> None:
        raise AssertionError("a row was read by itself")

    monkeypatch.setattr(checking, "read_pairs", refuse)
    batch = SCHEMA.to_arrow([event for event, wrong in EVENTS if not wrong])
    assert len(SCHEMA.check(batch).valid_rows) == batch.num_rows


def test_an_event_type_may_become_a_table_and_a_table_stays_as_it_is() -> None:
    plain = Schema.from_dict({key: value for key, value in FORM.items() if key != "tables"})
    wider = plain.extend(attributes={"more": "string"}, tables={"Stocks": {"key": ["Symbol"], "join": ["Symbol"]}})
    assert list(wider.attributes)[: len(plain.attributes)] == list(plain.attributes)
    assert wider.violations(STOCK) == []
    widest = wider.extend(attributes={"last": "string"}, tables={"Reviews": {"key": ["Symbol"]}})
    assert list(widest.attributes)[: len(wider.attributes)] == list(wider.attributes)
    assert set(widest.tables) == {"Stocks", "Reviews"}
    with pytest.raises(SchemaError, match=r"tables\.Stocks: 'Stocks' is already defined; its rows are kept"):
        widest.extend(tables={"Stocks": {"key": ["Symbol"]}})


@given(st.integers(1, 10**15))
def test_durations_come_back(length: int) -> None:
    assert read_duration(write_duration(length), "") == length


def test_durations_are_written_in_the_largest_unit() -> None:
    assert write_duration(read_duration("14 days", "")) == "2 weeks"
    assert write_duration(read_duration("1 hours", "")) == "1 hour"
    assert write_duration(read_duration("90 seconds", "")) == "90 seconds"


def test_tables_survive_arrow() -> None:
    assert SCHEMA.arrow_schema.field("operation").type == pa.string()
