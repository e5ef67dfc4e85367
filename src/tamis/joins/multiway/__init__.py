"""Joins of many tables as semijoins of two (§4): which table filters which, and what that costs."""

from tamis.joins.multiway.decomposition import (
    decomposed,
    filtering_of,
    most_selective_first,
    parametric_costs,
    planned,
    sampled_costs,
    total_cost,
)

__all__ = [
    "decomposed",
    "filtering_of",
    "most_selective_first",
    "parametric_costs",
    "planned",
    "sampled_costs",
    "total_cost",
]
