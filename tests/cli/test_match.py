"""`tamis match`, without Spark."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from tests.cli.house import EVENTS, MATCHES, Tamis

MATCH = ("match", "subscriptions.jsonl", "events.jsonl", "--schema", "schema.yaml")


def _objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def _numbered(text: str) -> list[tuple[int, str]]:
    return sorted((row["event"], row["subscription"]) for row in _objects(text))


def test_matches_go_to_standard_output_as_the_event_and_its_subscription(tamis: Tamis) -> None:
    result = tamis(*MATCH)
    assert result.exit_code == 0
    rows = _objects(result.stdout)
    assert sorted((row["title"], row["subscription"]) for row in rows) == [
        ("carriage clock", "cheap"),
        ("carriage clock", "clock"),
        ("chair", "old"),
    ]
    chair = next(row for row in rows if row["title"] == "chair")
    assert chair == EVENTS[1] | {"subscription": "old"}
    assert "3 events, 3 matches, 0 dead letters" in result.stderr


def test_the_mark_that_a_file_may_begin_with_is_no_part_of_its_first_event(tamis: Tamis, house: Path) -> None:
    marked = b"\xef\xbb\xbf" + (house / "events.jsonl").read_bytes().replace(b"\n", b"\r\n")
    (house / "marked.jsonl").write_bytes(marked)
    for path, given in (("marked.jsonl", None), ("-", marked)):
        result = tamis("match", "subscriptions.jsonl", path, "--schema", "schema.yaml", "--numbers", input=given)
        assert result.exit_code == 0
        assert _numbered(result.stdout) == MATCHES


def test_numbers_stand_for_events_on_request(tamis: Tamis) -> None:
    assert _numbered(tamis(*MATCH, "--numbers").stdout) == MATCHES


def test_arrays_hold_all_subscriptions_of_an_event(tamis: Tamis) -> None:
    rows = _objects(tamis(*MATCH, "--numbers", "--arrays").stdout)
    assert [(row["event"], sorted(row["subscriptions"])) for row in rows] == [(0, ["cheap", "clock"]), (1, ["old"])]


@pytest.mark.parametrize("rows", ["1", "2", "1000"])
def test_the_size_of_batches_does_not_change_the_matches(tamis: Tamis, rows: str) -> None:
    assert _numbered(tamis(*MATCH, "--numbers", "--batch-rows", rows).stdout) == MATCHES


def test_parquet_out_has_the_events_columns_and_the_subscription(tamis: Tamis, house: Path) -> None:
    assert tamis(*MATCH, "-o", "matches.parquet").exit_code == 0
    table = pyarrow.parquet.read_table(house / "matches.parquet")
    expected = ["event_type", "price", "quantity", "title", "tags", "opened", "period", "subscription"]
    assert table.column_names == expected
    assert sorted(table["subscription"].to_pylist()) == ["cheap", "clock", "old"]


def test_csv_and_gzipped_lines_out_hold_the_same_matches(tamis: Tamis, house: Path) -> None:
    tamis(*MATCH, "--numbers", "-o", "matches.csv")
    table = pyarrow.csv.read_csv(house / "matches.csv")
    assert sorted(zip(table["event"].to_pylist(), table["subscription"].to_pylist(), strict=True)) == MATCHES
    tamis(*MATCH, "--numbers", "-o", "matches.jsonl.gz")
    assert _numbered(gzip.decompress((house / "matches.jsonl.gz").read_bytes()).decode()) == MATCHES


def test_csv_holds_attributes_too_and_lists_as_json(tamis: Tamis, house: Path) -> None:
    assert tamis(*MATCH, "-o", "matches.csv").exit_code == 0
    rows = pyarrow.csv.read_csv(house / "matches.csv").to_pylist()
    assert sorted((row["title"], row["subscription"], row["tags"]) for row in rows) == [
        ("carriage clock", "cheap", '["red", "blue"]'),
        ("carriage clock", "clock", '["red", "blue"]'),
        ("chair", "old", ""),
    ]


def test_a_damaged_gzip_file_is_one_line(tamis: Tamis, house: Path) -> None:
    whole = gzip.compress((house / "events.jsonl").read_bytes())
    spoilt = whole[:12] + bytes(8) + whole[20:]
    for damaged in (whole[:-10], b"no gzip", spoilt):
        (house / "events.jsonl.gz").write_bytes(damaged)
        result = tamis("match", "subscriptions.jsonl", "events.jsonl.gz", "-s", "schema.yaml")
        assert result.exit_code == 2
        assert result.stderr.splitlines()[-1].startswith("error: events.jsonl.gz: no gzip file, or a damaged one: ")


def test_events_from_parquet_folders_and_gzip_match_the_same(tamis: Tamis, house: Path) -> None:
    names = sorted({name for event in EVENTS for name in event})
    pyarrow.parquet.write_table(pa.table({n: [e.get(n) for e in EVENTS] for n in names}), house / "events.parquet")
    (house / "many").mkdir()
    (house / "many" / "a.jsonl.gz").write_bytes(gzip.compress((house / "events.jsonl").read_bytes()))
    for events in ("events.parquet", "many"):
        result = tamis("match", "subscriptions.jsonl", events, "-s", "schema.yaml", "--numbers")
        assert (result.exit_code, _numbered(result.stdout)) == (0, MATCHES), result.stderr


def test_events_come_from_standard_input_under_a_dash(tamis: Tamis, house: Path) -> None:
    lines = (house / "events.jsonl").read_text()
    result = tamis("match", "subscriptions.jsonl", "-", "-s", "schema.yaml", "--numbers", input=lines)
    assert _numbered(result.stdout) == MATCHES


def test_several_files_are_numbered_through(tamis: Tamis) -> None:
    result = tamis("match", "subscriptions.jsonl", "events.jsonl", "events.jsonl", "-s", "schema.yaml", "--numbers")
    assert _numbered(result.stdout) == sorted(MATCHES + [(event + 3, id) for event, id in MATCHES])


def test_without_a_schema_parquet_events_give_one(tamis: Tamis, house: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"price": [1.0, 200.0]}), house / "plain.parquet")
    (house / "plain.yaml").write_text("cheap: price < 100")
    result = tamis("match", "plain.yaml", "plain.parquet", "--numbers")
    assert result.exit_code == 0
    assert _numbered(result.stdout) == [(0, "cheap")]
    assert "inferred" in result.stderr


def test_bad_events_become_dead_letters_and_the_others_match(tamis: Tamis, house: Path) -> None:
    good = (house / "events.jsonl").read_bytes()
    bad = b'{"price": "dear"}\nno json\n\n{"title": "priceless"}\n\xff\xfe\n'
    (house / "events.jsonl").write_bytes(bad + good)
    result = tamis(*MATCH, "--numbers", "--dead-letters", "dead.jsonl")
    assert result.exit_code == 1
    assert _numbered(result.stdout) == [(event + 4, id) for event, id in MATCHES]
    dead = _objects((house / "dead.jsonl").read_text())
    assert [(row["row"], row["rule"]) for row in dead] == [(1, "domain"), (2, "form"), (4, "R2"), (5, "form")]
    assert dead[0]["source"] == "events.jsonl"
    assert dead[0]["event"] == '{"price": "dear"}'
    assert dead[3]["message"] == "the line is not UTF-8"
    assert "4 dead letters" in result.stderr


def test_dead_letters_go_to_standard_error_where_no_file_is_named(tamis: Tamis, house: Path) -> None:
    (house / "events.jsonl").write_text("no json\n")
    result = tamis(*MATCH)
    assert (result.exit_code, result.stdout) == (1, "")
    assert '"event": "no json"' in result.stderr


def test_a_refused_subscription_is_named_and_the_others_match(tamis: Tamis, house: Path) -> None:
    with (house / "subscriptions.jsonl").open("a") as file:
        file.write('{"id": "wrong", "filter": "price > and quantity < 3"}\n')
    result = tamis(*MATCH, "--numbers", "--refused", "refused.csv")
    assert result.exit_code == 1
    assert _numbered(result.stdout) == MATCHES
    assert "subscription wrong refused" in result.stderr
    assert pyarrow.csv.read_csv(house / "refused.csv")["id"].to_pylist() == ["wrong"]


def test_no_events_give_no_matches(tamis: Tamis, house: Path) -> None:
    (house / "events.jsonl").write_text("")
    result = tamis(*MATCH)
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("match", "absent.jsonl", "events.jsonl", "-s", "schema.yaml"), "absent.jsonl: no such file"),
        (("match", "subscriptions.jsonl", "absent.jsonl", "-s", "schema.yaml"), "absent.jsonl: no such file"),
        (("match", "subscriptions.jsonl", "events.jsonl", "-s", "absent.yaml"), "absent.yaml"),
        (("match", "subscriptions.jsonl", "events.jsonl"), "give one with --schema"),
        (("match", "subscriptions.jsonl", "schema.yaml", "-s", "schema.yaml"), "suffix"),
        ((*MATCH, "-o", "matches.txt"), "suffix"),
        ((*MATCH, "-o", "nowhere/matches.jsonl"), "there is no folder nowhere"),
        ((*MATCH, "--spark", "--numbers"), "rows without a position"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_message(tamis: Tamis, arguments: tuple[str, ...], message: str) -> None:
    result = tamis(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_file_of_one_json_array_is_refused_with_a_remedy(tamis: Tamis, house: Path) -> None:
    (house / "events.json").write_text(json.dumps(EVENTS))
    result = tamis("match", "subscriptions.jsonl", "events.json", "-s", "schema.yaml")
    assert result.exit_code == 2
    assert "jq -c '.[]'" in result.stderr


def test_a_failed_run_leaves_no_half_written_output(tamis: Tamis, house: Path) -> None:
    (house / "events.json").write_text(json.dumps(EVENTS))
    tamis("match", "subscriptions.jsonl", "events.json", "-s", "schema.yaml", "-o", "matches.parquet")
    assert [path.name for path in house.iterdir() if "matches" in path.name] == []


@pytest.mark.parametrize("given", [("--matcher", "tree", "--option", "factor=period"), ("--matcher", "naive")])
def test_subscriptions_may_be_matched_by_another_matcher(tamis: Tamis, given: tuple[str, ...]) -> None:
    result = tamis(*MATCH, "--numbers", *given)
    assert result.exit_code == 0, result.stderr
    assert _numbered(result.stdout) == MATCHES


@pytest.mark.parametrize("given", [("--matcher", "tree"), ("--option", "factor=period"), ("--schedule", "sub-order")])
def test_what_is_compiled_keeps_its_matcher_and_schedule(tamis: Tamis, given: tuple[str, ...]) -> None:
    assert tamis("compile", *MATCH[1:2], *MATCH[3:], "-o", "auctions.index").exit_code == 0
    for spark in ((), ("--spark", "-o", "matches")):
        result = tamis("match", "auctions.index", "events.jsonl", *given, *spark)
        assert result.exit_code == 2
        assert f"auctions.index is compiled already, for the matcher and schedule in it: leave {given[0]} out" in (
            " ".join(result.stderr.split())
        )
