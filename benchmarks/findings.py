"""What a benchmark line finds, and what it is run with."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Options:
    """How to run: `scale` shrinks the numbers of subscriptions, so that a line can be tried out quickly.

    A bar is judged only at full scale. `events`, `only` and `tree` are of the line service-end-to-end: the number of
    events in place of its own, the text that names of workloads have in them, and the checkout whose service is run.
    """

    reference: Path
    results: Path
    scale: float = 1.0
    repetitions: int = 5
    events: int | None = None
    only: str = ""
    tree: Path | None = None

    def subscriptions(self, full: int) -> int:
        """So many subscriptions at full scale, fewer at a smaller one."""
        return max(100, int(full * self.scale))


@dataclass(frozen=True)
class Finding:
    """One row of the table. `reached` is None where there is no bar."""

    what: str
    workload: str
    measured: str
    bar: str = ""
    reached: bool | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class LineSkipped(Exception):  # noqa: N818  # skipping is no error
    """The line cannot run here; says why."""
