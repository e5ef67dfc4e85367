"""When filters are merged, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tamis.routing.merging.rules import Rules


@dataclass(frozen=True, slots=True)
class MergePolicy:
    """When merging is tried, and which mergers are made.

    It is tried after `every` changes of the table, after `period` seconds, once the table has at least `size` roots, or
    has grown to `growth` times what the last merging left; each may be left out, and the first that asks for it wins.

    `imt`, the imperfect merging threshold: a merger may forward less than this share of all events in vain; 0 allows
    what loses nothing. `order`: the attributes, from the top of the diagrams down; filters are merged that differ in
    their topmost attribute, or, with `every_side`, in any one.
    """

    imt: float = 0.0
    rules: Rules = Rules.TABLE_1
    every: int | None = 1_000
    period: float | None = None
    size: int | None = None
    growth: float | None = None
    order: Sequence[str] = ()
    every_side: bool = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.imt <= 1.0:
            raise ValueError(f"the imperfect merging threshold is a share from 0 to 1, not {self.imt}")
        if self.growth is not None and self.growth <= 1.0:
            raise ValueError(f"a table is merged when it has grown: {self.growth} is no growth")

    def asks(self, changes: int, elapsed: float, roots: int, after_last: int) -> bool:
        """Whether it is time, after so many changes and seconds, with so many roots now and after the last merging."""
        if not changes:
            return False
        return (
            (self.every is not None and changes >= self.every)
            or (self.period is not None and elapsed >= self.period)
            or (self.size is not None and roots >= self.size and roots > after_last)
            or (self.growth is not None and roots >= self.growth * max(1, after_last))
        )
