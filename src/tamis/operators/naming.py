"""Operators by what a command line or a settings file calls them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

from tamis.errors import OperatorError
from tamis.operators.definition import Operator
from tamis.operators.registry import installed


def operators_named(names: Iterable[str]) -> list[Operator]:
    """The operators of these names, in order; nothing else is loaded. `OperatorError` if one is not to be had.

    A name is that of an operator that an installed package offers, or `module:name`, where the module is also looked
    for in the current folder, and has an operator there, or a list of operators.
    """
    return [operator for name in names for operator in _named(name)]


def _named(name: str) -> list[Operator]:
    module, colon, path = name.partition(":")
    if not colon:
        return [installed(name)]
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: object = importlib.import_module(module)
    except ImportError as error:
        raise OperatorError(f"{name}: there is no module {module} to import: {error}") from error
    for part in path.split("."):
        found = getattr(found, part, None)
    several = list(found) if isinstance(found, list | tuple) else [found]
    operators = [one for one in several if isinstance(one, Operator)]
    if not operators or len(operators) < len(several):
        raise OperatorError(f"{name}: {module} has no operator {path}; declare it with @tamis.operator")
    return operators
