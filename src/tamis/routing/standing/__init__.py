"""Standing filters, of which those that others cover stand behind them (Li, Hou and Jacobsen 2005, §4)."""

from tamis.routing.standing.table import CoveringTable, Inserted, Removed

__all__ = ["CoveringTable", "Inserted", "Removed"]
