"""Merging: similar filters forwarded as one (Li, Hou and Jacobsen 2005, §5)."""

from tamis.routing.merging.degree import Likelihood
from tamis.routing.merging.policy import MergePolicy
from tamis.routing.merging.rules import Rules
from tamis.routing.merging.shares import Shares
from tamis.routing.merging.table import Merger, MergingTable

__all__ = ["Likelihood", "MergePolicy", "Merger", "MergingTable", "Rules", "Shares"]
