"""The filter language: parsing and checking of SQL filters, normal form, canonical text, many texts bound at once."""

from tamis.language.calls import NO_OPERATORS, Signatures
from tamis.language.forms import CalledFilter, Filter, normal_form, normalise
from tamis.language.parsing import parse
from tamis.language.printing import print_filter
from tamis.language.shapes import Block, Bound, CalledBlock, bind, normal_form_of
from tamis.language.tree import DEFAULT_LIMITS, Limits, Tree

__all__ = [
    "DEFAULT_LIMITS",
    "NO_OPERATORS",
    "Block",
    "Bound",
    "CalledBlock",
    "CalledFilter",
    "Filter",
    "Limits",
    "Signatures",
    "Tree",
    "bind",
    "normal_form",
    "normal_form_of",
    "normalise",
    "parse",
    "print_filter",
]
