"""Everybody's matching against what single subscriptions may take of it."""

from tamis.service.worker.fairness.expenses import Expenses, Overspent
from tamis.service.worker.fairness.fairness import Fairness

__all__ = ["Expenses", "Fairness", "Overspent"]
