"""What is said while kernels are compiled."""

from __future__ import annotations

import io

import numba as nb
import pytest
from numba.core import event
from rich.console import Console

from tamis.cli import compiling, terminal


def test_compiling_is_said_once_where_somebody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=200)
    monkeypatch.setattr(terminal, "err", console)
    monkeypatch.setattr(compiling, "err", console)
    listeners = event._registered["numba:compile"]
    before = list(listeners)
    compiling.tell_of_compiling()
    try:
        for _ in range(2):
            nb.njit(lambda number: number + 1)(1)
    finally:
        listeners[:] = before
    assert screen.getvalue().count("compiling for this machine") == 1


def test_nothing_is_said_into_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "err", Console(file=io.StringIO()))
    before = list(event._registered["numba:compile"])
    compiling.tell_of_compiling()
    assert event._registered["numba:compile"] == before
