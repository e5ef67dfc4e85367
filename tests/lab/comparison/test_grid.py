"""Cells are measured apart: what goes wrong in one is told, and the others are measured all the same."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tamis.errors import TamisError
from tamis.lab.comparison import Cell, Measurement, Problem, Terms, compare, grid
from tamis.lab.comparison.apart import Apart
from tamis.lab.comparison.grid import open_workload, save_workload
from tamis.workloads import Workload, le_subscribe

QUICK = Terms(budget_seconds=0.05)
SMALL = Problem("small", lambda: le_subscribe(50, 20), 50)


def test_every_matcher_meets_every_problem_and_what_cannot_be_run_stops_nothing() -> None:
    def fail() -> Workload:
        raise TamisError("no such file")

    cells = list(compare([Problem("broken", fail), SMALL], ["nobody", "scan"], Terms(budget_seconds=60.0)))
    assert [(cell.workload, cell.subscriptions, cell.matcher) for cell in cells] == [
        ("broken", 0, "nobody"),
        ("broken", 0, "scan"),
        ("small", 50, "nobody"),
        ("small", 50, "scan"),
    ]
    assert [cell.reason for cell in cells[:2]] == ["no such file"] * 2
    assert "there is no matcher 'nobody'" in (cells[2].reason or "")
    assert cells[3].reason is None
    assert cells[3].to_row()["events"] == 20


def test_too_little_memory_is_a_reason() -> None:
    problem = Problem("large", lambda: le_subscribe(50_000, 20))
    (cell,) = compare([problem], ["scan"], Terms(budget_seconds=0.05, memory_bytes=1 << 20))
    assert (cell.measurement, cell.reason) == (None, "out of memory")


def test_too_little_time_is_a_reason_and_the_next_gets_its_own() -> None:
    cells = list(compare([SMALL], ["scan", "columnar"], Terms(limit_seconds=0.01)))
    assert [cell.reason for cell in cells] == ["took longer than 0.01 s"] * 2


def test_a_process_that_dies_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    begin = Apart.__init__

    def killed(worker: Apart, *arguments: Any) -> None:
        begin(worker, *arguments)
        if not started:
            os.kill(worker._process.pid, signal.SIGKILL)
        started.append(worker._process.pid)

    monkeypatch.setattr(Apart, "__init__", killed)
    first, second = compare([SMALL], ["scan", "columnar"], QUICK)
    assert first.reason == "killed by the system, most likely for want of memory"
    assert second.measurement is not None
    assert len(set(started)) == 2


def test_no_process_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    workers: list[Apart] = []
    enter = Apart.__enter__

    def noted(worker: Apart) -> Apart:
        workers.append(worker)
        return enter(worker)

    monkeypatch.setattr(Apart, "__enter__", noted)
    cells = compare([SMALL], ["scan", "columnar"], QUICK)
    next(cells)
    cells.close()  # type: ignore[attr-defined]  # it is a generator
    assert [worker._process.poll() is not None for worker in workers] == [True]


def found(matcher: str, matches: int, events: int = 20) -> Cell:
    told = Measurement(matcher, "w", 50, events, matches, 1.0, 1.0, 0.0, 0.0, 0.0, 1, 1, 2048, matcher)
    return Cell(matcher, "w", 50, told)


def test_a_matcher_that_finds_something_else_on_the_same_events_is_not_counted() -> None:
    cells = [found("a", 7), found("b", 7), found("c", 8), found("d", 3, events=10)]
    assert [cell.reason for cell in grid._checked(cells)] == [
        None,
        None,
        "finds 8 matches in 20 events, a 7",
        None,
    ]


def test_a_workload_comes_out_of_its_folder_as_it_went_in(tmp_path: Path) -> None:
    workload = le_subscribe(20, 10)
    for number, expected in enumerate((None, np.arange(10))):
        folder = tmp_path / str(number)
        folder.mkdir()
        save_workload(Workload("w", workload.schema, workload.subscriptions, workload.events, expected), folder)
        opened = open_workload(folder)
        assert opened.name == "w"
        assert opened.schema == workload.schema
        assert opened.subscriptions.equals(workload.subscriptions)
        assert opened.events.equals(workload.events)
        told = None if opened.expected is None else opened.expected.tolist()
        assert told == (None if expected is None else expected.tolist())
