"""`tamis keys`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tamis.service.store import Store
from tests.cli.service_commands import app

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner(env={"COLUMNS": "160", "TERM": "dumb", "NO_COLOR": "1"})
    return lambda *arguments: runner.invoke(app, ("keys", *arguments))


def test_a_key_is_made_listed_and_taken_back(run: Run, tmp_path: Path) -> None:
    made = run("create", "[b]Gallery", "--role", "publish", "--role", "subscribe")
    assert made.exit_code == 0, made.stderr
    assert "tamis-state is new" in made.stderr
    secret = made.stdout.strip()
    store = Store.open(f"sqlite:///{tmp_path}/tamis-state/store.sqlite")
    key = store.keys.find(secret)
    assert key is not None
    assert key.roles == {"publish", "subscribe"}
    again = run("list")
    assert "is new" not in again.stderr
    listed = again.stdout
    assert key.id in listed
    assert "[b]Gallery" in listed
    assert secret not in listed + made.stderr
    assert run("revoke", key.id).exit_code == 0
    assert store.keys.find(secret) is None
    store.close()


def test_a_key_that_is_not_there_cannot_be_taken_back(run: Run) -> None:
    result = run("revoke", "nobody")
    assert result.exit_code == 2
    assert "no key nobody" in result.stderr


def test_a_key_without_a_role_is_wrong_usage(run: Run) -> None:
    assert run("create", "Gallery").exit_code == 2
    assert run("create", "Gallery", "--role", "rule").exit_code == 2


def test_the_store_may_be_named_by_its_address(run: Run, tmp_path: Path) -> None:
    assert run("create", "Gallery", "-r", "publish", "--store", f"sqlite:///{tmp_path}/other.sqlite").exit_code == 0
    store = Store.open(f"sqlite:///{tmp_path}/other.sqlite")
    assert [key.name for key in store.keys.list()] == ["Gallery"]
    store.close()
    assert not (tmp_path / "tamis-state").exists()


@pytest.mark.parametrize("command", ["create", "list", "revoke"])
def test_the_help_of_every_command_has_examples(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert "Examples" in result.stdout
    assert f"tamis keys {command}" in result.stdout
