"""Grid of any matchers on any workloads: workloads saved to be mapped, one cell each in a measuring process, and cells
checked against each other.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from tamis.errors import TamisError
from tamis.lab.comparison.apart import Apart, Terms
from tamis.lab.comparison.measuring import Measurement
from tamis.schema import Schema
from tamis.workloads import Workload

# Workloads saved as folders of files, for the measuring process.

_ABOUT, _SUBSCRIPTIONS, _EVENTS, _EXPECTED = "about.json", "subscriptions.arrow", "events.arrow", "expected.arrow"


def save_workload(workload: Workload, folder: Path) -> None:
    """Saves a workload into an existing, empty folder."""
    _write(workload.subscriptions, folder / _SUBSCRIPTIONS)
    _write(workload.events, folder / _EVENTS)
    if workload.expected is not None:
        _write(pa.table({"matches": workload.expected}), folder / _EXPECTED)
    about = {"name": workload.name, "schema": workload.schema.to_dict()}
    (folder / _ABOUT).write_text(json.dumps(about), encoding="utf-8")


def open_workload(folder: Path) -> Workload:
    """Opens a saved workload; the tables are mapped, not read."""
    about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
    expected = _map(folder / _EXPECTED)["matches"].to_numpy() if (folder / _EXPECTED).exists() else None
    return Workload(
        about["name"],
        Schema.from_dict(about["schema"]),
        _map(folder / _SUBSCRIPTIONS),
        _map(folder / _EVENTS),
        expected,
    )


def _write(table: pa.Table, path: Path) -> None:
    with pyarrow.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def _map(path: Path) -> pa.Table:
    return pyarrow.ipc.open_file(pa.memory_map(str(path))).read_all()


@dataclass(frozen=True, slots=True)
class Problem:
    """Workload generated on demand. `subscriptions`: the number asked for, where there is a choice."""

    name: str
    make: Callable[[], Workload]
    subscriptions: int | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """Result of a matcher on a problem: a measurement, or the reason why there is none.

    `subscriptions` is how many the problem has; 0 where it could not be made.
    """

    matcher: str
    workload: str
    subscriptions: int
    measurement: Measurement | None = None
    reason: str | None = None

    def to_row(self) -> dict[str, Any]:
        """Plain values by name."""
        about = {"matcher": self.matcher, "workload": self.workload, "subscriptions": self.subscriptions}
        return about | {"reason": self.reason} | ({} if self.measurement is None else self.measurement.to_row())


def compare(problems: Iterable[Problem], matchers: Sequence[str], terms: Terms = Terms()) -> Iterator[Cell]:  # noqa: B008
    """Measures all cells, problem by problem, and yields them as they are found."""
    for problem in problems:
        with TemporaryDirectory(prefix="tamis-bench-") as folder:
            try:
                workload = problem.make()
                save_workload(workload, Path(folder))
            except (TamisError, OSError, ValueError, MemoryError) as error:
                reason = str(error) or "out of memory"
                yield from (Cell(m, problem.name, problem.subscriptions or 0, reason=reason) for m in matchers)
                continue
            size = len(workload.subscriptions)
            # A million texts are better not held twice.
            del workload
            gc.collect()
            yield from _checked(_cells(problem.name, size, Path(folder), matchers, terms))


def _checked(cells: Iterable[Cell]) -> Iterator[Cell]:
    """Cells of one problem, checked against each other: those that saw equally many events must have equal matches."""
    found: dict[int, Measurement] = {}
    for cell in cells:
        ours = cell.measurement
        if ours is None or (first := found.setdefault(ours.events, ours)).matches == ours.matches:
            yield cell
            continue
        reason = f"finds {ours.matches:,} matches in {ours.events:,} events, {first.matcher} {first.matches:,}"
        yield Cell(cell.matcher, cell.workload, cell.subscriptions, reason=reason)


def _cells(problem: str, size: int, folder: Path, matchers: Sequence[str], terms: Terms) -> Iterator[Cell]:
    left = list(matchers)
    while left:
        with Apart(folder, left, terms) as worker:
            while left:
                found, lives = worker.next()
                matcher = left.pop(0)
                measurement = Measurement(**found["measurement"]) if "measurement" in found else None
                yield Cell(matcher, problem, size, measurement, found.get("reason"))
                if not lives:
                    break
