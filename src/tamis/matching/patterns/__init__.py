"""Pattern matching: all LIKE, ILIKE and RLIKE patterns on one attribute, decided in one scan of a value."""

from tamis.matching.patterns.like import literal_of, prefix_of
from tamis.matching.patterns.pattern_set import PatternSet

__all__ = ["PatternSet", "literal_of", "prefix_of"]
