"""Merging: similar filters forwarded as one (Li, Hou and Jacobsen 2005, §5)."""

from tamis.routing.merging.likelihood import Likelihood, Shares
from tamis.routing.merging.rules import MergePolicy, Rules
from tamis.routing.merging.table import Merger, MergingTable

__all__ = ["Likelihood", "MergePolicy", "Merger", "MergingTable", "Rules", "Shares"]
