"""`tamis merge`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tamis as library
from tests.cli.house import Tamis

_TEXTS = {
    "a": "quantity = 3 AND price < 100.0",
    "b": "quantity = 4 AND price < 100.0",
    "c": "quantity = 9 AND price < 100.0",
    "d": "quantity = 3 AND price < 50.0",
    "e": "title = 'clock'",
}


def _write(house: Path) -> None:
    lines = (json.dumps({"id": id, "filter": text}) for id, text in _TEXTS.items())
    (house / "some.jsonl").write_text("\n".join(lines))


def test_what_is_covered_is_left_out_and_what_is_similar_is_merged(tamis: Tamis, house: Path) -> None:
    _write(house)
    result = tamis("merge", "some.jsonl", "-s", "schema.yaml", "--json", "-o", "forwarded.jsonl")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == {
        "subscriptions": 5, "not_covered": 4, "forwarded": 3, "mergers": 1, "most_in_vain": 0.0, "refused": 0,
    }  # fmt: skip
    rows = {tuple(row["parts"]): row for row in map(json.loads, (house / "forwarded.jsonl").read_text().splitlines())}
    assert set(rows) == {("a", "b"), ("c",), ("e",)}
    schema = library.Schema.load(house / "schema.yaml")
    index = library.compile({"it": rows["a", "b"]["filter"]}, schema)
    events = [{"event_type": ["antiques"], "quantity": n, "price": 20.0} for n in (2, 3, 4, 5)]
    assert index.match(events).to_arrow()["event"].to_pylist() == [1, 2]


def test_lists_merge_what_is_apart(tamis: Tamis, house: Path) -> None:
    _write(house)
    result = tamis("merge", "some.jsonl", "-s", "schema.yaml", "--lists")
    assert "5 subscriptions, 4 of them covered by no other; 2 filters to forward, 1 of them mergers" in " ".join(
        result.stdout.split()
    )
    assert "quantity IN (3, 4, 9)" in result.stdout


def test_what_may_be_forwarded_in_vain_is_known_from_past_events(tamis: Tamis, house: Path) -> None:
    _write(house)
    events = [{"event_type": ["antiques"], "quantity": n % 20, "price": 20.0} for n in range(400)]
    (house / "past.jsonl").write_text("\n".join(map(json.dumps, events)))
    for imt, forwarded in ((0.1, 3), (0.5, 2)):
        result = tamis("merge", "some.jsonl", "past.jsonl", "-s", "schema.yaml", "--imt", str(imt), "--hulls", "--json")
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["forwarded"] == forwarded
    assert json.loads(result.stdout)["most_in_vain"] == pytest.approx(0.2)


def test_a_filter_that_cannot_be_read_is_told_and_does_not_stop_the_others(tamis: Tamis, house: Path) -> None:
    (house / "some.yaml").write_text(json.dumps({"a": "quantity = 3", "b": "quantity ="}))
    result = tamis("merge", "some.yaml", "-s", "schema.yaml", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["refused"] == 1
    assert "subscription b refused" in result.stderr


def test_a_schema_is_needed_and_an_index_is_no_list_of_subscriptions(tamis: Tamis, house: Path) -> None:
    _write(house)
    assert tamis("merge", "some.jsonl").exit_code == 2
    (house / "it.index").mkdir()
    assert "compiled index" in tamis("merge", "it.index", "-s", "schema.yaml").stderr
