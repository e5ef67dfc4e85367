"""Descriptive skylines (Chandramouli & Yang 2008, §3.2.1).

They are short descriptions of the rows that a tuple joins with, exact for all subscriptions.
"""

from tamis.joins.skylines.gaps import GapStore

__all__ = ["GapStore"]
