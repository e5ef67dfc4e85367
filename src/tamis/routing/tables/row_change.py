"""A change of a set of filters."""

from __future__ import annotations

from dataclasses import dataclass

from tamis.routing.tables.routed_filter import RoutedFilter


@dataclass(frozen=True, slots=True)
class RowChange:
    """What comes to a set of filters and what leaves it, at once: nothing is in both, and neither without the other."""

    added: tuple[RoutedFilter, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)
