"""`tamis analyze`, without Spark and on it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from tests.cli.house import Tamis

ANALYZE = ("analyze", "subscriptions.jsonl", "--schema", "schema.yaml")
MORE = {
    "same": "NOT price >= 100",
    "narrow": "price < 50 AND quantity = 3",
    "never": "price < 1 AND price > 2",
    "always": "price IS NOT NULL",
    "quiet": "title = 'nothing of the kind'",
}


@pytest.fixture
def more(house: Path) -> None:
    """Further subscriptions, each with something to be found."""
    with (house / "subscriptions.jsonl").open("a") as file:
        file.write("".join(json.dumps({"id": id, "filter": text}) + "\n" for id, text in MORE.items()))


@pytest.mark.usefixtures("more")
def test_what_is_found_is_told_with_remedies(tamis: Tamis) -> None:
    result = tamis(*ANALYZE)
    assert result.exit_code == 0, result.stderr
    assert "8 subscriptions" in result.stdout
    assert "could go without anything being lost" in result.stdout
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["subscription", "filter", "same", "as", "its", "filter"] in lines
    assert "duplicate  keep one of each" in result.stdout
    assert "contradictory  correct them, or remove them" in result.stdout
    assert "dearest to match" in result.stdout
    assert "silent" not in result.stdout


@pytest.mark.usefixtures("more")
def test_past_events_tell_which_matched_nothing(tamis: Tamis) -> None:
    result = tamis("analyze", "subscriptions.jsonl", "events.jsonl", "-s", "schema.yaml", "--json")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["events"] == 3
    assert summary["findings"]["always true"] == 1
    assert [row["id"] for row in summary["examples"]["contradictory"]] == ["never"]


@pytest.mark.usefixtures("more")
def test_findings_and_picture_go_to_files(tamis: Tamis, house: Path) -> None:
    pytest.importorskip("matplotlib", reason="the Spark extra is not installed")
    result = tamis(*ANALYZE, "-o", "findings.parquet", "--plot", "found.png")
    assert result.exit_code == 0, result.stderr
    table = pyarrow.parquet.read_table(house / "findings.parquet")
    assert table.num_rows == 8
    found = dict(zip(table["id"].to_pylist(), table["finding"].to_pylist(), strict=True))
    assert (found["same"], found["never"]) == ("duplicate", "contradictory")
    assert (house / "found.png").stat().st_size > 20_000
    tamis(*ANALYZE, "-o", "findings.csv")
    assert pyarrow.csv.read_csv(house / "findings.csv").num_rows == 8


def test_a_compiled_index_is_analyzed_under_its_own_schema(tamis: Tamis) -> None:
    tamis("compile", "subscriptions.jsonl", "-s", "schema.yaml", "-o", "auctions.index")
    result = tamis("analyze", "auctions.index", "--json")
    assert (result.exit_code, json.loads(result.stdout)["subscriptions"]) == (0, 3)


def test_what_is_refused_is_told_beside_and_stops_nothing(tamis: Tamis, house: Path) -> None:
    with (house / "subscriptions.jsonl").open("a") as file:
        file.write('{"id": "wrong", "filter": "price > and quantity < 3"}\n')
    with (house / "events.jsonl").open("a") as file:
        file.write("no json\n")
    arguments = ("analyze", "subscriptions.jsonl", "events.jsonl", "-s", "schema.yaml", "--refused", "bad.csv")
    result = tamis(*arguments, "--dead-letters", "dead.jsonl")
    assert result.exit_code == 1
    assert "3 subscriptions" in result.stdout
    assert "subscription wrong refused" in result.stderr
    assert "3 events, 1 dead letters" in result.stderr
    assert pyarrow.csv.read_csv(house / "bad.csv")["id"].to_pylist() == ["wrong"]
    assert "no json" in (house / "dead.jsonl").read_text()


def test_no_subscriptions_are_no_failure(tamis: Tamis, house: Path) -> None:
    (house / "none.yaml").write_text("{}")
    result = tamis("analyze", "none.yaml", "-s", "schema.yaml")
    assert result.exit_code == 0, result.stderr
    assert "0 subscriptions" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("analyze", "subscriptions.jsonl"), "give one with --schema"),
        (("analyze", "absent.jsonl", "-s", "schema.yaml"), "absent.jsonl: no such file"),
        ((*ANALYZE, "-o", "findings.txt"), "suffix"),
        ((*ANALYZE, "--plot", "plot.txt"), "a plot is written to a file that ends in"),
        ((*ANALYZE, "--statistics", "schema.yaml"), "holds no statistics"),
        (("analyze", "subscriptions.jsonl", "-s", "schema.yaml", "--spark", "--dead-letters", "d.csv"), "writes none"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_one_message(tamis: Tamis, arguments: tuple[str, ...], message: str) -> None:
    result = tamis(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.spark
@pytest.mark.usefixtures("spark", "more")
def test_spark_finds_the_same(tamis: Tamis, house: Path) -> None:
    arguments = ("analyze", "subscriptions.jsonl", "events.jsonl", "-s", "schema.yaml", "--json")
    here, there = tamis(*arguments), tamis(*arguments, "--spark")
    assert there.exit_code == 0, there.stderr
    one, other = json.loads(here.stdout), json.loads(there.stdout)
    for key in ("subscriptions", "findings", "superfluous", "events", "attributes", "predicates", "examples"):
        assert one[key] == other[key], key
