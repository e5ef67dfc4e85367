"""Merging of filters: similar filters forwarded as one, within a false-positive threshold (Li et al. 2005, §5).

likelihood.py   estimated share of events that match a conjunction
rules.py        merging rules, candidate groups, and the policy when and how far to merge
table.py        the covering table with mergers in it
"""

from tamis.routing.merging.likelihood import Likelihood, Shares
from tamis.routing.merging.rules import MergePolicy, Rules
from tamis.routing.merging.table import Merger, MergingTable

__all__ = ["Likelihood", "MergePolicy", "Merger", "MergingTable", "Rules", "Shares"]
