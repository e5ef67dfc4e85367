"""The `tamis` command as a whole: help, versions, wrong usage."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.cli.house import Tamis

COMMANDS = ("match", "join", "validate", "explain", "compile", "backtest", "demo", "experiments", "version")


def test_help_lists_every_command(tamis: Tamis) -> None:
    result = tamis("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert f" {command} " in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_examples(tamis: Tamis, command: str) -> None:
    result = tamis(command, "--help")
    assert result.exit_code == 0
    assert "Examples" in result.stdout
    assert f"tamis {command}" in result.stdout


def test_version_names_tamis_and_what_it_stands_on(tamis: Tamis) -> None:
    result = tamis("version")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"tamis {metadata.version('tamis')}\n")
    assert "pyarrow" in result.stdout


def test_an_unknown_command_is_wrong_usage(tamis: Tamis) -> None:
    assert tamis("sieve").exit_code == 2


def test_a_missing_argument_is_wrong_usage(tamis: Tamis) -> None:
    assert tamis("match").exit_code == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_is_named(tamis: Tamis, house: Path) -> None:
    locked = house / "locked"
    locked.mkdir(mode=0o500)
    result = tamis("match", "subscriptions.jsonl", "events.jsonl", "-s", "schema.yaml", "-o", "locked/matches.jsonl")
    assert result.exit_code == 2
    assert "locked/matches.jsonl: no permission" in result.stderr


def test_a_reader_that_goes_away_ends_the_command_quietly(house: Path) -> None:
    (house / "events.jsonl").write_text((house / "events.jsonl").read_text() * 20_000)
    command = f"{sys.executable} -m tamis.cli match subscriptions.jsonl events.jsonl -s schema.yaml | head -n 1"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True, timeout=300)
    assert len(ended.stdout.splitlines()) == 1
    assert "Traceback" not in ended.stderr
    assert "BrokenPipe" not in ended.stderr
