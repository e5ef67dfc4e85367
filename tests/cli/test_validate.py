"""`tamis validate`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.house import Tamis


def test_a_right_schema_events_and_subscriptions_pass(tamis: Tamis) -> None:
    result = tamis("validate", "schema.yaml", "events.jsonl", "--subscriptions", "subscriptions.jsonl")
    assert result.exit_code == 0
    assert "1 event types, 6 attributes" in result.stderr
    assert "subscriptions: 3 right, 0 refused" in result.stderr
    assert "events: 3 right, 0 dead letters" in result.stderr


def test_a_schema_can_be_checked_alone(tamis: Tamis) -> None:
    assert tamis("validate", "schema.yaml").exit_code == 0


def test_a_wrong_schema_is_refused_with_its_place(tamis: Tamis, house: Path) -> None:
    (house / "schema.yaml").write_text("attributes: {price: money}\nevent_types: {lot: {price: mandatory}}\n")
    result = tamis("validate", "schema.yaml")
    assert result.exit_code == 2
    assert "SchemaError" in result.stderr
    assert "money" in result.stderr


def test_a_violation_names_event_attribute_rule_and_value(tamis: Tamis, house: Path) -> None:
    (house / "events.jsonl").write_text('{"price": 1.0}\n{"price": 1.0, "period": "MCMXX"}\n')
    result = tamis("validate", "schema.yaml", "events.jsonl", "--dead-letters", "dead.jsonl")
    assert result.exit_code == 1
    (dead,) = [json.loads(line) for line in (house / "dead.jsonl").read_text().splitlines()]
    assert (dead["row"], dead["attribute"], dead["rule"]) == (2, "period", "domain")
    assert "MCMXX" in dead["value"]


def test_a_wrong_subscription_is_refused_by_id(tamis: Tamis, house: Path) -> None:
    (house / "subscriptions.jsonl").write_text(
        '{"id": "bad", "filter": "price <"}\n{"id": "good", "filter": "price < 1"}\n'
    )
    result = tamis("validate", "schema.yaml", "--subscriptions", "subscriptions.jsonl")
    assert result.exit_code == 1
    assert "subscription bad refused" in result.stderr
    assert "subscriptions: 1 right, 1 refused" in result.stderr
