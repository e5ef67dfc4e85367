"""`tamis covers`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tamis.schema import Schema
from tests.cli.house import Tamis


def ask(tamis: Tamis, a: str, b: str) -> dict[str, Any]:
    result = tamis("covers", a, b, "--schema", "schema.yaml", "--json")
    assert result.exit_code == 0, result.stderr
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


@pytest.mark.parametrize(
    ("a", "b", "relation"),
    [
        ("price < 100", "price < 50 AND title = 'clock'", "covers"),
        ("period = 'XVI'", "period <= 'XVII'", "covered"),
        ("quantity > 2", "quantity >= 3", "equal"),
        ("price < 100", "quantity < 100", "neither"),
    ],
)
def test_the_relation_is_named_and_shown_by_valid_events(
    tamis: Tamis, house: Path, a: str, b: str, relation: str
) -> None:
    answer = ask(tamis, a, b)
    assert answer["relation"] == relation
    schema = Schema.load(house / "schema.yaml")
    for only, (one, other) in (("only_a", (a, b)), ("only_b", (b, a))):
        if (event := answer[only]) is not None:
            schema.validate(event)
            assert _matches(tamis, house, one, event)
            assert not _matches(tamis, house, other, event)
    assert (answer["only_a"] is None) == (relation in ("covered", "equal"))
    assert (answer["only_b"] is None) == (relation in ("covers", "equal"))


def _matches(tamis: Tamis, house: Path, text: str, event: dict[str, Any]) -> bool:
    (house / "one.yaml").write_text(json.dumps({"it": text}))
    (house / "event.jsonl").write_text(json.dumps(event) + "\n")
    result = tamis("match", "one.yaml", "event.jsonl", "-s", "schema.yaml", "--numbers")
    assert result.exit_code == 0, result.stderr
    return bool(result.stdout)


def test_people_are_told_in_words(tamis: Tamis) -> None:
    result = tamis("covers", "opened > '2024-01-01'", "opened > '2024-06-01' AND price < 5", "-s", "schema.yaml")
    assert "A covers B: every event that matches B matches A" in result.stdout
    assert 'only A matches: {"price": 0.0, "opened": "2024-01-01T00:00:00.000001Z"}' in result.stdout


def test_what_is_not_found_out_is_not_claimed(tamis: Tamis) -> None:
    result = tamis("covers", "title RLIKE 'a+'", "title RLIKE 'aa+'", "-s", "schema.yaml")
    assert result.exit_code == 0
    assert "neither is seen to cover the other" in result.stdout
    assert "whether A covers B was not found out" in result.stdout


def test_a_filter_that_is_none_is_shown_where_it_is_wrong(tamis: Tamis) -> None:
    result = tamis("covers", "price < 5", "prise < 5", "-s", "schema.yaml")
    assert result.exit_code == 2
    assert "did you mean price?" in result.stderr
