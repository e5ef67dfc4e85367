"""Routing tables (Li, Hou and Jacobsen 2005, §2): filters by the neighbour they came from, and what goes on to others.

Advertisements and subscriptions have the same form, so both tables are a `RoutingTable`.
"""

from tamis.routing.tables.policies import (
    POLICIES,
    Policy,
    RoutedFilter,
    RoutingTable,
    RowChange,
    intersects,
    policy,
    read_canonical,
    read_filter,
)

__all__ = [
    "POLICIES",
    "Policy",
    "RoutedFilter",
    "RoutingTable",
    "RowChange",
    "intersects",
    "policy",
    "read_canonical",
    "read_filter",
]
