"""Join subscriptions: text, normal form, canonical text, and many texts bound at once."""

from tamis.language.joins.binding import BoundJoins, JoinBlock, are_joins, bind_joins
from tamis.language.joins.join import Join
from tamis.language.joins.parsing import parse_join
from tamis.language.joins.printing import print_join
from tamis.language.joins.signature import Edge, Signature

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
