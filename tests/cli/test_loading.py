"""What is loaded before a command works: little, so that help and Ctrl-C are answered at once."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer.core import TyperGroup

from tamis.cli.base import options
from tamis.cli.bench import bench
from tamis.cli.commands import app
from tamis.cli.simulate import simulate
from tamis.lab.comparison import measuring
from tamis.lab.simulation import simulation as overlay
from tamis.lab.simulation import simulation as topology
from tamis.matching.matchers import MATCHERS
from tamis.operators.schedules import SCHEDULES
from tamis.workloads import select_joins

HEAVY = ("numba", "numpy", "pandas", "pyarrow", "pyspark", "scipy", "sqlalchemy", "sqlglot")

HELPS = f"""
import contextlib, io, sys
from tamis.cli.commands import app
for words in eval(sys.argv[1]):
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
        app(words)
    assert shown.getvalue(), words
    assert not set(sys.modules) & set({HEAVY}), (words, set(sys.modules) & set({HEAVY}))
"""
INTERRUPTED = """
import builtins
loaded = builtins.__import__
def interrupt(name, *rest, **named):
    if name == {module!r}:
        raise KeyboardInterrupt
    return loaded(name, *rest, **named)
builtins.__import__ = interrupt
from tamis.cli import main
main()
"""


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, TyperGroup):
        for name, each in command.commands.items():
            yield from commands(each, (*words, name))


def test_no_help_loads_what_only_work_needs() -> None:
    asked = [[*words, "--help"] for words in commands(typer.main.get_command(app))] + [["--version"], ["version"]]
    assert len(asked) > 25
    subprocess.run([sys.executable, "-c", HELPS, repr(asked)], check=True, timeout=120)


@pytest.mark.parametrize("module", ["typer", "tamis.cli.commands", "tamis.cli.work.events", "numba"])
def test_ctrl_c_while_modules_load_ends_without_a_word(module: str) -> None:
    code = INTERRUPTED.format(module=module)
    arguments = ["match", "subscriptions.jsonl", "events.jsonl"]
    ended = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr.strip()) == (130, "", "")


def test_help_shows_the_names_and_numbers_that_rooms_have() -> None:
    assert list(MATCHERS) == list(options.MATCHERS)
    assert list(SCHEDULES) == list(options.SCHEDULES)
    shown = {name: each.default for name, each in inspect.signature(simulate).parameters.items()}
    assert (shown["nodes"], shown["topology"]) == (overlay.OVERLAY, topology.NODES)
    assert (shown["r_rows"], shown["s_rows"]) == (select_joins.R_ROWS, select_joins.S_ROWS)
    assert inspect.signature(bench).parameters["batch_rows"].default == measuring.BATCH_ROWS
