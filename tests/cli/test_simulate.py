"""`tamis simulate`."""

from __future__ import annotations

import json
from importlib import import_module

import pytest
from rich.console import Console

from tests.cli.house import Tamis

simulating = import_module("tamis.cli.simulate")  # the command has the same name

SMALL = (
    "--subscriptions",
    "300",
    "--events",
    "10",
    "--nodes",
    "12",
    "--topology",
    "60",
    "--r-rows",
    "20",
    "--s-rows",
    "100",
)


@pytest.mark.parametrize("network", ["zones", "links"])
def test_every_scheme_is_shown_by_event(tamis: Tamis, network: str) -> None:
    result = tamis("simulate", *SMALL, "--network", network, "--json")
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert len({row["scheme"] for row in rows}) == 9
    assert all(row["network"] == network and row["events"] == 10 for row in rows)
    assert len({row["delivered"] for row in rows if row["scheme"].startswith("ref-sj")}) == 1


def test_the_table_names_what_it_shows(tamis: Tamis) -> None:
    result = tamis("simulate", *SMALL, "--scheme", "ref-j", "--repository", "5", "--plain", "0.3")
    assert result.exit_code == 0, result.stderr
    assert "ref-j" in result.stdout


@pytest.mark.parametrize("columns", [60, 80])
def test_no_heading_is_cut_off_on_a_narrow_screen(tamis: Tamis, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulating, "out", Console(width=columns))
    result = tamis("simulate", *SMALL, "--scheme", "ref-sj-clu+")
    assert "subscriber" in result.stdout
    assert "…" not in result.stdout


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--scheme", "ref-x"), "there is no scheme 'ref-x'; there are rel-sel"),
        (("--network", "rings"), "there is no network 'rings'; there are zones and links"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(tamis: Tamis, wrong: tuple[str, str], said: str) -> None:
    result = tamis("simulate", *SMALL, *wrong)
    assert result.exit_code == 2
    assert said in result.stderr
