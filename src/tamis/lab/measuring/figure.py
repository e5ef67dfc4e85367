"""Figure of a paper: its claim, the points to measure, the picture, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Point: TypeAlias = Mapping[str, str | int | float | bool]
Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]


class Outcome(StrEnum):
    """Outcome of a claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not"


@dataclass(frozen=True)
class Check:
    """One thing that the paper says, beside what we found. `holds` is None where there is nothing to hold it to."""

    what: str
    paper: str
    ours: str
    holds: bool | None = None


@dataclass(frozen=True)
class Verdict:
    """The checks of a figure, and why it came out as it did: in whole sentences, for people."""

    checks: Sequence[Check]
    why: str

    @property
    def outcome(self) -> Outcome:
        held = [check.holds for check in self.checks if check.holds is not None]
        if all(held):
            return Outcome.REPRODUCED
        return Outcome.PARTLY if any(held) else Outcome.NOT


@dataclass(frozen=True)
class Table:
    """Numbers for the page: a header and lines of cells, ready to print."""

    header: Sequence[str]
    lines: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, `name` being `paper/figure`.

    `grid(scale)` lists the points to measure; at scale 1 they are the paper's, or the largest that fit (`sizes` says
    which). `run` measures one of them: a function of the point alone, called in a worker of Spark, which gives one or
    more rows. Points that count run side by side. Those that take times run one after the other in one worker: `alone`.
    `draw`, `table` and `verdict` take all rows, each with the point's values in it, in the order of the grid.

    `version` goes up whenever `run` comes to mean something else: rows of an older version are not used. Figures with
    the same `run` and version may share their points, which are then kept under the name `shared`.
    """

    name: str
    title: str
    claim: str
    sizes: str
    version: int
    alone: bool
    grid: Callable[[float], Sequence[Point]]
    run: Callable[[Point], Rows]
    draw: Callable[[Rows, Picture], None]
    table: Callable[[Rows], Table]
    verdict: Callable[[Rows], Verdict]
    shared: str = ""

    @property
    def command(self) -> str:
        return f"tamis experiments run {self.name}"


@dataclass(frozen=True)
class Paper:
    """A paper: its folder's name, what it is, and its figures."""

    name: str
    title: str
    figures: Sequence[Figure]


def scaled(sizes: Sequence[int], scale: float, least: int = 1) -> list[int]:
    """Numbers of subscriptions made smaller (or larger) to try things out; what falls together is taken once."""
    return sorted({max(least, round(size * scale)) for size in sizes})


def one(rows: Rows, **wanted: object) -> Row:
    """The one row with these values."""
    (found,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return found


def budget(seconds: float, scale: float) -> float:
    """Seconds that a point may match for: less where things are tried out."""
    return max(0.02, seconds * min(1.0, scale))
