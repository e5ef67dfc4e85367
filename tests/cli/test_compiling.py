"""What is said while kernels are compiled."""

from __future__ import annotations

import io

import numba as nb
import pytest
from rich.console import Console

import tamis.compiled
from tamis.cli.base import terminal


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A terminal, and nobody who is told of compiling yet."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=200)
    monkeypatch.setattr(terminal, "err", console)
    monkeypatch.setattr(tamis.compiled, "_TOLD", [])
    terminal._tell.cache_clear()
    return file


def compile_something() -> None:
    tamis.compiled.bare_kernel(lambda number: number)  # loads Numba, and listens to it
    nb.njit(lambda number: number + 1)(1)


def test_compiling_is_said_once_where_somebody_watches(screen: io.StringIO) -> None:
    terminal.tell_of_compiling()
    compile_something()
    compile_something()
    assert screen.getvalue().count("compiling for this machine") == 1


def test_nothing_is_said_into_a_pipe(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "err", Console(file=io.StringIO()))
    terminal.tell_of_compiling()
    compile_something()
    assert screen.getvalue() == ""
