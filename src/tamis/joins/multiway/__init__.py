"""Joins of many tables as semijoins of two (§4): which table filters which, and what that costs."""

from tamis.joins.multiway.decomposition import decomposed, filtering_of, total_cost
from tamis.joins.multiway.parametric import parametric_costs
from tamis.joins.multiway.planning import planned
from tamis.joins.multiway.sampled import sampled_costs
from tamis.joins.multiway.selective import most_selective_first

__all__ = [
    "decomposed",
    "filtering_of",
    "most_selective_first",
    "parametric_costs",
    "planned",
    "sampled_costs",
    "total_cost",
]
