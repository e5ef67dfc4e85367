"""Kernels written for one workload, or for integers only, to measure Tamis beside: loaded from a folder by path."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.findings import LineSkipped

SLOW_EVENTS = {"w4": 256, "w5": 96, "w5s": 384, "w6a": 768}
EVENTS = 4096
SAMPLE = 2000  # the first events are the planner's sample of the stream, and are not timed


class HandMadeKernel:
    """A kernel for Le Subscribe's workload and nothing else. It overwrites its output with every event."""

    def __init__(self, reference: Path, subscriptions: int, events: int, seed: int, p: float) -> None:
        self._module = _load(reference, "le_subscribe_bound", reference / "le_subscribe_bound.py")
        rng = np.random.default_rng(seed)
        self._index = self._module.build(*self._module.subscriptions(subscriptions, p, rng))
        self._values, present = self._module.events(events, rng)
        self._present = (present * (1 << np.arange(6))).sum(1)
        self._out = np.empty(subscriptions + 1, np.int32)

    def match(self) -> int:
        """The number of matches of all events."""
        arguments = (self._values, self._present, *self._index, self._out, self._module.SIZES)
        return int(self._module.match(*arguments))


class ExplorationEngine:
    """A general engine over integers, on one of its own ten workloads. It too overwrites its output."""

    def __init__(self, reference: Path, workload: str, subscriptions: int, seed: int) -> None:
        folder = reference / "engine_exploration"
        engine = _load(reference, "engine", folder / "engine.py")
        workloads = _load(reference, "workloads", folder / "workloads.py")
        conditions, events, coded = _generators(workloads)[workload](
            subscriptions, timed_events(workload) + SAMPLE, seed
        )
        self._events = np.ascontiguousarray(events[SAMPLE:])
        self._engine = engine.Engine(conditions, events[:SAMPLE], coded)

    def match(self) -> int:
        """The number of matches of all events."""
        total, _, _ = self._engine.match(self._events)
        return int(total)

    def candidates(self) -> float:
        """How many subscriptions an event is checked against, on average."""
        _, counters, _ = self._engine.match(self._events, True)
        return float(counters[1] / len(self._events))


def timed_events(workload: str) -> int:
    """How many events of an exploration workload are timed: fewer where an event matches very many."""
    return SLOW_EVENTS.get(workload, EVENTS)


def _generators(module: Any) -> dict[str, Callable[[int, int, int], Any]]:
    return {
        "w1": lambda n, events, seed: module.w1(n, 0.5, events, seed),
        "w1p1": lambda n, events, seed: module.w1(n, 1.0, events, seed),
        "w2": lambda n, events, seed: module.w2(n, events, 0, seed),
        "w2z": lambda n, events, seed: module.w2(n, events, 1, seed),
        "w3": module.w3,
        "w4": module.w4,
        "w5": lambda n, events, seed: module.w5(n, events, 0, seed),
        "w5s": lambda n, events, seed: module.w5(n, events, 1, seed),
        "w6": lambda n, events, seed: module.w6(n, events, 0, seed),
        "w6a": lambda n, events, seed: module.w6(n, events, 1, seed),
    }


def _load(reference: Path, name: str, file: Path) -> Any:
    if not file.is_file():
        raise LineSkipped(f"no yardstick at {file}: give its folder with --reference or TAMIS_REFERENCE")
    for folder in (str(reference), str(file.parent)):
        if folder not in sys.path:
            sys.path.append(folder)
    return importlib.import_module(name)
