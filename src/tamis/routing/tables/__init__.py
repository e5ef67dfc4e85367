"""Routing tables (Li, Hou and Jacobsen 2005, §2): filters by the neighbour they came from, and what goes on to others.

Advertisements and subscriptions have the same form, so both tables are a `RoutingTable`.
"""

from tamis.routing.tables.change import Change
from tamis.routing.tables.intersection import intersects
from tamis.routing.tables.policies import POLICIES, Policy
from tamis.routing.tables.routed_filter import RoutedFilter, read_filter
from tamis.routing.tables.routing_table import RoutingTable

__all__ = ["POLICIES", "Change", "Policy", "RoutedFilter", "RoutingTable", "intersects", "read_filter"]
