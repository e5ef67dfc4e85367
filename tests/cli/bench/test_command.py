"""`tamis bench`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.house import Tamis

QUICK = ("--budget", "0.05", "--event-count", "50")


def test_matchers_are_measured_beside_each_other(tamis: Tamis, house: Path) -> None:
    result = tamis(
        "bench", "-m", "quarantine,auto", "-w", "ranges", "-n", "20,30", "--baseline", "quarantine", *QUICK,
        "--json", "out.json", "--plot", "out.svg", "--markdown", "out.md",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "ranges, 20" in result.stdout
    content = json.loads((house / "out.json").read_text())
    assert [(row["workload"], row["subscriptions"], row["matcher"]) for row in content["cells"]] == [
        ("ranges", size, matcher) for size in (20, 30) for matcher in ("quarantine", "auto")
    ]
    assert (content["seed"], content["baseline"], content["event_count"]) == (1, "quarantine", 50)
    assert content["cells"][0]["ratio"] == 1.0
    assert content["cells"][1]["ratio"] > 0
    assert (house / "out.md").read_text().startswith("| workload | subscriptions | quarantine | auto |")
    assert (house / "out.svg").read_text().lstrip().startswith("<?xml")


def test_ones_own_files_are_measured_and_what_is_refused_is_told(tamis: Tamis, house: Path) -> None:
    with (house / "subscriptions.jsonl").open("a") as file:
        file.write('{"id": "bad", "filter": "prise < 1"}\n')
    result = tamis(
        "bench", "-m", "columnar", "--subscriptions", "subscriptions.jsonl", "--events", "events.jsonl",
        "-s", "schema.yaml", *QUICK,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "subscriptions.jsonl, 4" in result.stdout
    assert "1 filters refused" in result.stdout


def test_what_cannot_be_measured_is_shown_and_the_command_says_so(tamis: Tamis) -> None:
    result = tamis("bench", "-m", "scan", "-w", "ranges", "-n", "20", "--limit", "0.01", *QUICK)
    assert result.exit_code == 1
    assert "took longer than 0.01 s" in result.stdout


def test_options_that_do_not_fit_are_refused_before_anything_is_measured(tamis: Tamis) -> None:
    for arguments, message in (
        (("--baseline", "tree", "-m", "columnar,scan"), "not among the matchers"),
        (("--subscriptions", "subscriptions.jsonl"), "belong together"),
        (("-w", "nothing"), "there is no workload 'nothing'"),
        (("-n", "many"), "'many' is not a number of subscriptions"),
        (("--memory", "much"), "is not an amount of memory"),
        (("--plot", "picture.gif"), "ends in .png"),
        (("--stock-quotes", "nowhere"), "nowhere: no such file or folder"),
        (("--json", "nowhere/out.json"), "there is no folder"),
    ):
        result = tamis("bench", *arguments)
        assert result.exit_code == 2, arguments
        assert message in result.stderr


def test_an_index_is_no_file_of_subscriptions(tamis: Tamis) -> None:
    tamis("compile", "subscriptions.jsonl", "--schema", "schema.yaml", "-o", "auctions.index")
    result = tamis("bench", "--subscriptions", "auctions.index", "--events", "events.jsonl")
    assert result.exit_code == 2
    assert "give the file it was compiled from" in result.stderr
