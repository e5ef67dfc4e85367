"""A small auction house on disk, and a way to run `tamis` in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tamis.cli.commands import app
from tests.cli.house import EVENTS, SCHEMA, SUBSCRIPTIONS, Tamis


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: schema.yaml, subscriptions.jsonl, events.jsonl, all of them right."""
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    lines = [json.dumps({"id": id, "filter": text}) for id, text in SUBSCRIPTIONS.items()]
    (tmp_path / "subscriptions.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tamis(house: Path) -> Tamis:
    """Runs the command in `house`. Nothing may reach the user as a traceback."""
    runner = CliRunner(env={"COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1"})

    def run(*arguments: str, input: str | bytes | None = None) -> Result:
        result = runner.invoke(app, arguments, input=input)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        return result

    return run
