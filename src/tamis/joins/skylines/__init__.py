"""Descriptive skylines (§3.2.1): short descriptions of the rows a tuple joins with, exact for all subscriptions."""

from tamis.joins.skylines.gaps import GapStore

__all__ = ["GapStore"]
