"""An analysis finds what is there: told apart by brute force on generated sets, by name on a small one."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings

import tamis
from tamis.analysis.findings import SCHEMA as COLUMNS
from tamis.errors import TamisError
from tamis.testing import Generated, reference_matches, workloads
from tamis.workloads import named
from tests.generated import cases

SCHEMA = tamis.Schema.from_dict(
    {
        "attributes": {"price": "float", "title": "string", "bids": "integer", "tags": "string", "lost": "integer"},
        "event_types": {
            "lot": {"price": "mandatory", "title": "optional", "bids": "optional", "tags": ["optional", "multiple"]},
        },
    }
)
TEXTS = {
    "cheap": "price < 100",
    "cheaper": "price < 50 AND bids > 3",
    "same": "NOT price >= 100",
    "never": "price < 10 AND price > 20",
    "no price": "price IS NULL",
    "no such": "lost = 4",
    "always": "price > 5 OR price <= 5 OR price IS NULL",
    "priced": "price IS NOT NULL",
    "quiet": "title = 'a title that no lot has'",
    "oak": "tags = 'oak'",
    "bad": "prise < 5",
}
EVENTS: list[dict[str, object]] = [
    {"price": float(price), "title": f"lot {price}", "bids": price % 7, "tags": ["oak"] * (price % 2)}
    for price in range(1, 201, 3)
]


@pytest.fixture(scope="module")
def analysis() -> tamis.Analysis:
    return tamis.analyze(TEXTS, SCHEMA, events=EVENTS)


def rows(analysis: tamis.Analysis) -> dict[str, dict[str, object]]:
    return {row["id"]: row for row in analysis.subscriptions.to_pylist()}


def test_each_subscription_has_the_gravest_of_its_findings(analysis: tamis.Analysis) -> None:
    assert {id: row["finding"] for id, row in rows(analysis).items()} == {
        "cheap": None,
        "cheaper": "covered",
        "same": "duplicate",
        "never": "contradictory",
        "no price": "contradictory",
        "no such": "contradictory",
        "always": "always true",
        "priced": "always true",
        "quiet": "silent",
        "oak": None,
    }


def test_findings_name_the_other_one_and_the_remedy(analysis: tamis.Analysis) -> None:
    found = rows(analysis)
    assert (found["same"]["duplicate_of"], found["same"]["covered_by"]) == ("cheap", None)
    assert found["same"]["remedy"] == "asks for the same as cheap: keep one of them"
    assert found["cheaper"]["remedy"] == "cheap matches all that it matches: keep that one alone"
    assert found["never"]["remedy"] == "no event can match it: correct it, or remove it"
    assert not found["oak"]["undecided"]


def test_matches_are_counted_over_the_history(analysis: tamis.Analysis) -> None:
    told = reference_matches({id: text for id, text in TEXTS.items() if id != "bad"}, SCHEMA, EVENTS)
    counted = {id: sum(id in ids for ids in told) for id in rows(analysis)}
    assert {id: row["matches"] for id, row in rows(analysis).items()} == counted
    assert analysis.events == len(EVENTS)
    assert rows(tamis.analyze(TEXTS, SCHEMA))["oak"]["matches"] is None


def test_what_was_refused_is_beside(analysis: tamis.Analysis) -> None:
    assert [id for id, _ in analysis.refused] == ["bad"]
    assert analysis.summary()["refused"] == 1


def test_the_summary_is_json_and_counts_what_could_go(analysis: tamis.Analysis) -> None:
    summary = json.loads(json.dumps(analysis.summary(3)))
    assert summary["subscriptions"] == 10
    assert summary["findings"] == {
        "contradictory": 3,
        "always true": 2,
        "duplicate": 1,
        "covered": 1,
        "silent": 1,
    }
    assert summary["superfluous"] == 5
    assert len(summary["dearest"]) == 3
    assert summary["attributes"][0] == {"attribute": "price", "subscriptions": 6, "conditions": 6, "presence": 1.0}
    assert summary["examples"]["duplicate"][0]["id"] == "same"


def test_conditions_are_counted_by_what_they_ask_for_however_written() -> None:
    texts = {
        "a": "bids > 3 AND price < 5",
        "b": "bids >= 4",
        "c": "NOT bids <= 3",
        "d": "title LIKE 'oak%'",
        "e": "tags IN ('a', 'b')",
    }
    texts |= {
        "f": "title LIKE '%oak%'",
        "g": "tags != 'a'",
        "h": "title IS NULL",
        "i": "price > bids",
        "j": "tags >= 'x'",
    }
    found = tamis.analyze(texts, SCHEMA).predicates.to_pylist()
    assert found[0] == {"attribute": "bids", "condition": "bids >= 4", "subscriptions": 3}
    assert {row["condition"] for row in found[1:]} == {
        "price < 5", "title LIKE 'oak%'", "title LIKE '%oak%'", "tags = 'a'", "tags = 'b'", "tags != 'a'",
        "title IS NULL", "bids < price", "tags >= 'x'",
    }  # fmt: skip


def test_the_dearest_come_with_a_reason() -> None:
    texts = {f"s{k}": f"bids = {k} AND price < {k}" for k in range(600)}
    texts |= {"wide": "price > 1", "expression": "title RLIKE '[a-z]+[0-9]'", "weak": "price > 199 AND bids < 900"}
    dearest = tamis.analyze(texts, SCHEMA, events=EVENTS).dearest(3)
    reasons = {row["id"]: row["reason"] for row in dearest}
    assert set(reasons) == {"wide", "expression", "weak"}
    assert "is run on every value" in reasons["expression"]
    assert "it matches 99% of events" in reasons["wide"]
    assert "every event looks at it" in reasons["weak"] or "looked at in vain" in reasons["weak"]
    assert sum(row["share"] for row in dearest) > 0.5


@given(workloads(max_subscriptions=10, max_events=8))
@settings(max_examples=cases(40))
def test_no_event_contradicts_a_finding(generated: Generated) -> None:
    analysis = tamis.analyze(generated.subscriptions, generated.schema, events=generated.events)
    told = reference_matches(generated.subscriptions, generated.schema, generated.events)
    for row, ids in product(analysis.subscriptions.to_pylist(), map(set, told)):
        matched = row["id"] in ids
        assert not (matched and row["contradictory"])
        assert matched or not row["always_true"]
        if row["duplicate_of"] is not None:
            assert matched == (row["duplicate_of"] in ids)
        if row["covered_by"] is not None:
            assert not matched or row["covered_by"] in ids
    assert len(analysis) + len(analysis.refused) == len(generated.subscriptions)


def test_an_index_that_changed_is_analyzed_as_it_is_now() -> None:
    index = tamis.compile({"a": "price < 5", "b": "price < 7", "gone": "price < 100"}, SCHEMA)
    index.add({"c": "price < 6", "d": "price < 5"})
    index.remove(["gone"])
    found = rows(tamis.analyze(index))
    assert {id: row["covered_by"] for id, row in found.items()} == {"a": "b", "b": None, "c": "b", "d": "b"}
    assert found["d"]["duplicate_of"] == "a"
    assert sorted(index.match([{"price": 5.5}]).to_lists()[0]) == ["b", "c"]


def test_any_matcher_s_index_can_be_analyzed() -> None:
    index = tamis.compile({"a": "price < 5", "b": "price < 7"}, SCHEMA, matcher="naive")
    assert rows(tamis.analyze(index))["a"]["covered_by"] == "b"


def test_texts_need_a_schema_and_no_texts_are_an_empty_table() -> None:
    with pytest.raises(TamisError, match="need the schema"):
        tamis.analyze({"a": "price < 5"})
    empty = tamis.analyze({}, SCHEMA)
    assert empty.subscriptions.schema == COLUMNS
    assert (len(empty), empty.superfluous, empty.summary()["dearest"]) == (0, 0, [])


def test_of_padres_set_a_covering_leaves_about_a_quarter() -> None:
    workload = named("padres_sets")(200_000, 1)
    analysis = tamis.analyze(workload.subscriptions, workload.schema)
    assert analysis.superfluous / len(analysis) == pytest.approx(0.758, abs=0.02)
    assert analysis.compared < 2 * len(analysis)


def test_the_picture_is_drawn(analysis: tamis.Analysis, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the Spark extra is not installed")
    analysis.plot(tmp_path / "found.png")
    assert (tmp_path / "found.png").stat().st_size > 20_000
    with pytest.raises(TamisError, match="ends in"):
        analysis.plot(tmp_path / "found.txt")
    tamis.analyze({}, SCHEMA).plot(tmp_path / "nothing.svg")


def test_batches_are_a_history_too() -> None:
    batches = pa.Table.from_batches([SCHEMA.to_arrow(EVENTS)]).to_batches(max_chunksize=10)
    found = tamis.analyze(TEXTS, SCHEMA, events=iter(batches))
    assert found.events == len(EVENTS)
    assert pc.sum(found.subscriptions["matches"]).as_py() > 0


def test_bytes_are_there_or_not() -> None:
    schema = tamis.Schema.from_dict({"attributes": {"image": "binary"}, "event_types": {"shot": {"image": "optional"}}})
    texts = {"whatever": "image IS NULL OR image IS NOT NULL", "with": "image IS NOT NULL"}
    found = tamis.analyze(texts, schema)
    assert found.counts["always true"] == 1
    assert found.counts["contradictory"] == 0
