"""`tamis explain`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.cli.house import Tamis

EXPLAIN = ("explain", "subscriptions.jsonl")
SCHEMA = ("--schema", "schema.yaml")


def test_a_match_shows_each_condition_as_held(tamis: Tamis) -> None:
    result = tamis(*EXPLAIN, "cheap", '{"price": 5.0}', *SCHEMA)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "cheap: price < 100"
    assert "held" in lines[1]
    assert "price: 5.0" in lines[1]
    assert lines[-1] == "match"


def test_a_miss_names_the_first_condition_to_fail(tamis: Tamis, house: Path) -> None:
    (house / "subscriptions.jsonl").write_text(
        '{"id": "s", "filter": "price < 10 AND quantity > 3 AND title = \'x\'"}\n'
    )
    result = tamis(*EXPLAIN, "s", '{"price": 5.0, "title": "y"}', *SCHEMA)
    assert result.exit_code == 0
    assert "quantity: absent" in result.stdout
    assert "title: y" in result.stdout
    assert "no match; first to fail: " in result.stdout


def test_alternatives_are_shown_apart(tamis: Tamis, house: Path) -> None:
    (house / "subscriptions.jsonl").write_text('{"id": "s", "filter": "price < 10 OR quantity > 3"}\n')
    result = tamis(*EXPLAIN, "s", '{"price": 5.0}', *SCHEMA)
    assert "alternative 2 of 2" in result.stdout
    assert result.stdout.splitlines()[-1] == "match"


def test_a_compiled_index_knows_its_schema(tamis: Tamis) -> None:
    tamis("compile", "subscriptions.jsonl", *SCHEMA, "-o", "auctions.index")
    result = tamis("explain", "auctions.index", "cheap", '{"price": 500.0}')
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "no match; first to fail: price < 100")


@pytest.mark.parametrize(("row", "ending"), [("1", "match"), ("4", "no match; first to fail: price < 100")])
def test_an_event_can_be_a_line_of_a_file(tamis: Tamis, house: Path, row: str, ending: str) -> None:
    (house / "events.jsonl").write_text('{"price": 5.0}\n\nno json\n{"price": 500.0}\n')
    result = tamis(*EXPLAIN, "cheap", "events.jsonl", "--row", row, *SCHEMA)
    assert result.stdout.splitlines()[-1] == ending


def test_an_event_can_be_a_row_of_a_parquet_file(tamis: Tamis, house: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"price": [500.0, 5.0]}), house / "events.parquet")
    assert tamis(*EXPLAIN, "cheap", "events.parquet", "--row", "2", *SCHEMA).stdout.splitlines()[-1] == "match"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nobody", '{"price": 5.0}', *SCHEMA), "there is no subscription 'nobody'"),
        (("cheap", '{"price": "dear"}', *SCHEMA), "the event breaks the schema"),
        (("cheap", '{"price": ', *SCHEMA), "the event breaks the schema"),
        (("cheap", "events.jsonl", "--row", "99", *SCHEMA), "there is no event in row 99"),
        (("cheap", '{"price": 5.0}'), "give one with --schema"),
        (("cheap", "absent.jsonl", *SCHEMA), "absent.jsonl: no such file"),
    ],
)
def test_what_cannot_be_explained_is_said_in_one_message(
    tamis: Tamis, arguments: tuple[str, ...], message: str
) -> None:
    result = tamis(*EXPLAIN, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
