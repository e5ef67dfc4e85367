"""Operators (user-defined functions, expensive predicates): called by filters, shared, run only where still needed."""

from tamis.operators.declaring import operator
from tamis.operators.registry import Operator, Registry, Var, installed, installed_names

__all__ = ["Operator", "Registry", "Var", "installed", "installed_names", "operator"]
