"""`tamis operators` lists what filters may call; commands are told by name what their filters may call."""

from __future__ import annotations

from importlib import import_module

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tamis.cli.base.options import operators_of, separate
from tamis.cli.commands import app
from tamis.errors import OperatorError
from tamis.operators import registry


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal on which no line is broken."""
    module = import_module("tamis.cli.operators")  # the command in `tamis.cli` has the same name
    monkeypatch.setattr(module, "out", Console(width=200, highlight=False))


def test_operators_are_listed_with_what_they_take_and_cost() -> None:
    found = CliRunner().invoke(app, ["operators", "tests.service.city:ALL"])
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["name", "loc_in", "mob_pattern", "broken"]
    assert " 1 " in lines[1]
    assert " 0.3 " in lines[1]
    assert "?people: integer" in lines[2]
    assert "learned" in lines[3]


def test_one_that_cannot_be_loaded_is_listed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint, EntryPoints

    offered = EntryPoints(
        [
            EntryPoint("loc_in", "tests.service.city:loc_in", registry.GROUP),
            EntryPoint("gone", "tests.service.nowhere:gone", registry.GROUP),
        ]
    )
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: offered.select(**wanted))
    found = CliRunner().invoke(app, ["operators"])
    assert found.exit_code == 0
    assert "cannot be loaded from tests.service.nowhere:gone" in found.stdout
    assert "loc_in" in found.stdout


def test_a_name_that_nobody_offers_is_an_error() -> None:
    found = CliRunner().invoke(app, ["operators", "no_such_operator"])
    assert found.exit_code == 2
    assert "no installed package offers" in found.stderr


def test_names_are_given_with_commas_or_several_times() -> None:
    assert separate(["a, b:c", "d", ""]) == ["a", "b:c", "d"]
    assert operators_of(None) is None
    found = operators_of(["tests.service.city:loc_in,tests.service.city:broken"])
    assert [operator.name for operator in found or ()] == ["loc_in", "broken"]
    with pytest.raises(OperatorError, match="no module nowhere"):
        operators_of(["nowhere:x"])
