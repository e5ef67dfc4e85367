"""Everybody's matching against what single subscriptions may take of it."""

from tamis.service.matching.fairness.expenses import Expenses, Overspent
from tamis.service.matching.fairness.fairness import Fairness

__all__ = ["Expenses", "Fairness", "Overspent"]
