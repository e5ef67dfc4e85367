"""Modified binary decision diagrams: matching and covering as their authors do it (Li, Hou and Jacobsen 2005, §3, §4).

diagrams.py       hash-consed diagrams of conjunctions, and their evaluation
matcher.py        the matcher `mbd`
rows.py           covering by a pair of diagrams; dependencies.py: the cache of dependencies between predicates
"""

from tamis.lab.diagrams.rows import DiagramRows, order_from_history

__all__ = ["DiagramRows", "order_from_history"]
