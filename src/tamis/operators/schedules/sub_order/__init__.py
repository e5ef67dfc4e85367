"""Sub-Order: subscriptions as linked chains, ordered by what it saves to evaluate one before another."""

from tamis.operators.schedules.sub_order.schedule import SubOrder

__all__ = ["SubOrder"]
