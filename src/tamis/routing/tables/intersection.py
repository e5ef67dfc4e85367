"""Whether some event could satisfy two filters: which subscriptions are worth telling to whoever advertises."""

from __future__ import annotations

from tamis.language import Filter
from tamis.routing.covering.summary import Summary
from tamis.schema import Schema


def intersects(a: Filter, b: Filter, schema: Schema) -> bool:
    """False only if no event satisfies both; True also where patterns or comparisons of attributes hide that.

    A subscription that is forwarded in vain costs a row; one that is not forwarded would cost events.
    """
    if () in a.conjuncts or () in b.conjuncts:  # TRUE
        return bool(a.conjuncts) and bool(b.conjuncts)
    return any(not Summary((*one, *other), schema).impossible for one in a.conjuncts for other in b.conjuncts)
