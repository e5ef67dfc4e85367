"""The predicate index: every distinct predicate of the standing filters once (Li, Hou and Jacobsen 2005, §3.1)."""

from tamis.routing.predicates.index import PredicateIndex

__all__ = ["PredicateIndex"]
