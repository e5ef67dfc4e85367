"""Covering table: standing filters, of which covered ones are kept behind their cover (Li et al. 2005, §4).

predicate_index.py   every distinct predicate once, under a number
rows.py              conjunctions as rows of those numbers, and the kernel that compares one with all
table.py             the covering table: roots, and classes behind them
forwarding.py        the interface to forwarding: simple, covering (merging has its own folder)
"""

from tamis.routing.standing.table import CoveringTable, Inserted, Removed

__all__ = ["CoveringTable", "Inserted", "Removed"]
