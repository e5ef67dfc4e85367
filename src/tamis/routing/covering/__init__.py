"""Covering: which filters match everything that another one matches (Li, Hou and Jacobsen 2005, §4)."""

from tamis.routing.covering.relation import Relation, counter_example, covers, relate
from tamis.routing.covering.witness import Event, UndecidedError, witness

__all__ = ["Event", "Relation", "UndecidedError", "counter_example", "covers", "relate", "witness"]
