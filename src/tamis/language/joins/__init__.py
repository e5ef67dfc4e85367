"""The join language: parsing of SELECT subscriptions, normal form, canonical text, and many texts bound at once."""

from tamis.language.joins.binding import BoundJoins, JoinBlock, are_joins, bind_joins
from tamis.language.joins.join import Edge, Join, Signature, print_join
from tamis.language.joins.parsing import parse_join

__all__ = [
    "BoundJoins",
    "Edge",
    "Join",
    "JoinBlock",
    "Signature",
    "are_joins",
    "bind_joins",
    "parse_join",
    "print_join",
]
