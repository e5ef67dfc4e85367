"""Expensive operators: functions that filters call, shared between subscriptions and run only where still needed."""

from tamis.operators.declaring import operator
from tamis.operators.registry import Operator, Registry, Var, installed, installed_names

__all__ = ["Operator", "Registry", "Var", "installed", "installed_names", "operator"]
