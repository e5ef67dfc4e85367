"""Analysis of a set of subscriptions: covered, duplicate and contradictory ones, and the most expensive (`tamis
analyze`).

subscription_set.py   `analyze`: usage of attributes and conditions, history, findings
findings.py           the result: tables, summary, advice
cost_model.py         expected cost of each subscription; picture.py: the plot
"""

from tamis.analysis.findings import Analysis
from tamis.analysis.subscription_set import analyze

__all__ = ["Analysis", "analyze"]
