"""The filter language: text, checked syntax tree, normal form, canonical text, and many texts bound at once."""

from tamis.language.limits import DEFAULT_LIMITS, Limits
from tamis.language.normal_form import Filter, normalise
from tamis.language.parsing import parse
from tamis.language.printing import print_filter
from tamis.language.shapes import Block, Bound, bind
from tamis.language.tree import Tree

__all__ = [
    "DEFAULT_LIMITS",
    "Block",
    "Bound",
    "Filter",
    "Limits",
    "Tree",
    "bind",
    "normalise",
    "parse",
    "print_filter",
]
