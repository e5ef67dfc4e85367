"""`tamis compile`."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from tamis import Index
from tamis.lab.tree.matcher import TreeMatcher
from tamis.lab.tree.tree import TreeOptions
from tests.cli.house import MATCHES, Tamis

COMPILE = ("compile", "subscriptions.jsonl", "--schema", "schema.yaml", "-o", "auctions.index")


def test_a_compiled_index_matches_without_a_schema(tamis: Tamis) -> None:
    result = tamis(*COMPILE)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "3 subscriptions compiled" in result.stderr
    matched = tamis("match", "auctions.index", "events.jsonl", "--numbers")
    assert matched.exit_code == 0
    rows = [json.loads(line) for line in matched.stdout.splitlines()]
    assert sorted((row["event"], row["subscription"]) for row in rows) == MATCHES


def test_a_sample_of_events_may_be_given(tamis: Tamis) -> None:
    assert tamis(*COMPILE, "--sample", "events.jsonl").exit_code == 0


def test_refused_subscriptions_are_written_with_their_errors_and_the_rest_compile(tamis: Tamis, house: Path) -> None:
    (house / "subscriptions.jsonl").write_text(
        '{"id": "good", "filter": "price < 1"}\n{"id": "bad", "filter": "prise < 1"}\nno json\n'
    )
    result = tamis(*COMPILE, "--refused", "refused.parquet")
    assert result.exit_code == 1
    assert "1 subscriptions compiled" in result.stderr
    table = pyarrow.parquet.read_table(house / "refused.parquet")
    refused = {row["id"]: row for row in table.to_pylist()}
    assert set(refused) == {"bad", ""}
    assert refused["bad"]["error"] == "FilterTypeError"
    assert refused["bad"]["filter"][refused["bad"]["start"] : refused["bad"]["end"]] == "prise"
    assert "line 3" in refused[""]["message"]


def test_the_place_of_a_fault_is_underlined(tamis: Tamis, house: Path) -> None:
    (house / "subscriptions.jsonl").write_text('{"id": "bad", "filter": "prise < 1"}\n')
    lines = tamis(*COMPILE).stderr.splitlines()
    at = lines.index("  prise < 1")
    assert lines[at + 1] == "  ^^^^^"


def test_an_index_of_another_schema_is_not_matched_against(tamis: Tamis, house: Path) -> None:
    tamis(*COMPILE)
    (house / "other.yaml").write_text("attributes: {price: integer}\nevent_types: {lot: {price: mandatory}}\n")
    result = tamis("match", "auctions.index", "events.jsonl", "-s", "other.yaml")
    assert result.exit_code == 2
    assert "another schema" in result.stderr


def test_a_folder_that_is_no_index_is_refused(tamis: Tamis, house: Path) -> None:
    (house / "empty").mkdir()
    result = tamis("match", "empty", "events.jsonl")
    assert result.exit_code == 2
    assert "IndexFileError" in result.stderr


def test_more_refusals_than_are_told_are_counted(tamis: Tamis, house: Path) -> None:
    lines = [json.dumps({"id": f"s{k}", "filter": "prise < 1"}) for k in range(25)]
    (house / "subscriptions.jsonl").write_text("\n".join(lines))
    stderr = tamis(*COMPILE).stderr
    assert stderr.count("refused: FilterTypeError") == 10
    assert "and 15 more; --refused FILE writes them all" in stderr


def test_an_index_may_be_of_another_matcher_with_options(tamis: Tamis) -> None:
    result = tamis(*COMPILE, "--matcher", "tree", "--option", "collapse=false", "--option", "factor=period")
    assert result.exit_code == 0
    index = Index.open("auctions.index")
    assert isinstance(index.matcher, TreeMatcher)
    assert index.matcher.tree.options == TreeOptions(collapse=False, factor=("period",))
    matched = tamis("match", "auctions.index", "events.jsonl", "--numbers")
    rows = [json.loads(line) for line in matched.stdout.splitlines()]
    assert sorted((row["event"], row["subscription"]) for row in rows) == MATCHES


def test_options_that_there_are_not_are_refused(tamis: Tamis) -> None:
    for given, said in (
        (("--option", "collapse=false"), "columnar"),
        (("--matcher", "tree", "--option", "collapse"), "NAME=VALUE"),
        (("--matcher", "tree", "--option", "colapse=false"), "colapse"),
        (("--matcher", "tree", "--option", "collapse=perhaps"), "perhaps"),
        (("--matcher", "trie"), "trie"),
    ):
        result = tamis(*COMPILE, *given)
        assert result.exit_code == 2
        assert said in result.stderr


def test_an_option_given_again_makes_a_list(tamis: Tamis) -> None:
    given = [word for name in ("period", "quantity", "price") for word in ("--option", f"factor={name}")]
    assert tamis(*COMPILE, "--matcher", "tree", *given).exit_code == 0
    matcher = Index.open("auctions.index").matcher
    assert isinstance(matcher, TreeMatcher)
    assert matcher.tree.options.factor == ("period", "quantity", "price")


def test_an_index_may_have_another_schedule(tamis: Tamis, house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(house))
    (house / "pricing.py").write_text(
        "import tamis\n\n\n@tamis.operator(cost=1.0)\ndef worth(price: float) -> bool:\n    return price > 0\n"
    )
    calling = ("--operators", "pricing:worth", "--schedule")
    assert tamis(*COMPILE, *calling, "sub-order").exit_code == 0
    about = json.loads((house / "auctions.index" / "index.json").read_text())
    assert about["operators"]["schedule"] == "sub-order"
    refused = tamis(*COMPILE, *calling, "dearest-first")
    assert refused.exit_code == 2
    assert "there is no schedule 'dearest-first'; there are naive" in refused.stderr
