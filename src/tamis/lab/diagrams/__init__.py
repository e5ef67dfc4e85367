"""Covering by a pair of diagrams, as its authors do it (Li, Hou and Jacobsen 2005, §4.2 to 4.4)."""

from tamis.lab.diagrams.rows import DiagramRows, order_from_history

__all__ = ["DiagramRows", "order_from_history"]
