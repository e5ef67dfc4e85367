"""Covering relation between filters: does one match everything that another matches (Li, Hou and Jacobsen 2005, §4)?

exact_values.py   exact sets of values behind literals, and implications between patterns
summary.py        one conjunct, attribute by attribute, and what it implies
witness.py        constraint search for an event that satisfies a conjunct
relation.py       covering of two filters, and counterexamples to it
facts/, search/   covering among many filters at once: facts over codes, and an index that finds candidates
"""

from tamis.routing.covering.relation import Relation, counter_example, covers, relate
from tamis.routing.covering.witness import Event, UndecidedError, witness

__all__ = ["Event", "Relation", "UndecidedError", "counter_example", "covers", "relate", "witness"]
