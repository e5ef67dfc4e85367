"""CESQL 1.0, the expression language of CloudEvents: parsed once, then evaluated over each event's attributes."""

from __future__ import annotations

from collections.abc import Mapping

from tamis.dialects.cesql.evaluation import Evaluated, evaluate
from tamis.dialects.cesql.functions import ErrorKind, EvaluationError, Value
from tamis.dialects.cesql.parsing import parse
from tamis.dialects.cesql.syntax import Node

__all__ = ["ErrorKind", "Evaluated", "EvaluationError", "Node", "Value", "evaluate", "holds", "parse"]


def holds(node: Node, attributes: Mapping[str, object]) -> bool:
    """True if an expression lets an event pass as a filter: its value is true, and evaluation has no error (§1.2)."""
    found = evaluate(node, attributes)
    return found.value is True and found.error is None
