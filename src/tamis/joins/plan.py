"""Plans of semijoins: the neighbour that filters a table, and the attributes that descriptions speak of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tamis.language.joins import Signature

Choice: TypeAlias = Callable[[Signature], Mapping[str, str]]
"""For each table of a signature the neighbour that filters what is sent of it."""


def first_neighbours(signature: Signature) -> dict[str, str]:
    """Each table filtered by its first neighbour; of two tables, each by the other."""
    return {table: signature.neighbours(table)[0] for table in signature.tables}


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """Plan of a join of several tables, or of a table with several restricted attributes.

    `filters` says which neighbour filters each table (§4). A description speaks of one attribute a table, the first of
    `leading` that subscriptions restrict, else the one that most of them do; clients check the others. With
    `every_attribute` it speaks of all of them: nothing is sent in vain, and the server looks at every subscription for
    every change (App. C). Contents are the same under any plan.
    """

    filters: Choice = first_neighbours
    leading: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    every_attribute: bool = False


DEFAULT_PLAN = JoinPlan()
