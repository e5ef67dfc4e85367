"""Analysis of subscriptions as a whole: which are superfluous, which are expensive, which never match."""

from tamis.analysis.findings import Analysis
from tamis.analysis.subscription_set import analyze

__all__ = ["Analysis", "analyze"]
