"""Operators by name: those that a program hands over, and those that installed packages offer."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from tamis.errors import OperatorError
from tamis.operators.definition import Operator

GROUP = "tamis.operators"
"""The entry points under which a package offers operators: `name = "module:operator"`, a line an operator."""


class Registry(Mapping[str, Operator]):
    """The operators that the filters of one index may call. Names are unique; nothing is changed once it is made."""

    def __init__(self, operators: Iterable[Operator | str] = ()) -> None:
        self._by_name: dict[str, Operator] = {}
        if isinstance(operators, str | Operator):
            raise OperatorError(f"operators are given as a list; write operators=[{operators!r}]")
        for given in operators:
            operator = installed(given) if isinstance(given, str) else given
            if not isinstance(operator, Operator):
                raise OperatorError(f"{operator!r} is no operator; declare it with @tamis.operator")
            known = self._by_name.setdefault(operator.name, operator)
            if known is not operator:
                message = f"there are two operators {operator.name}, of {known.__module__} and of {operator.__module__}"
                raise OperatorError(f"{message}; give one of them another name: @tamis.operator(name='...')")

    def __getitem__(self, name: str) -> Operator:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"<operators {', '.join(self._by_name) or 'none'}>"


def installed_names() -> list[str]:
    """The names of all operators that installed packages offer, sorted; none of them is loaded."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def installed(name: str) -> Operator:
    """The operator that an installed package offers under this name, loaded now."""
    found = list(entry_points(group=GROUP, name=name))
    if not found:
        close = get_close_matches(name, installed_names(), 1)
        remedy = f"did you mean {close[0]}?" if close else f"packages offer operators by entry points of {GROUP}"
        raise OperatorError(f"no installed package offers an operator {name}; {remedy}")
    places = sorted({entry.value for entry in found})
    if len(places) > 1:
        raise OperatorError(f"several packages offer an operator {name}: {', '.join(places)}; hand over the one meant")
    return _loaded(found[0])


def is_offered(operator: Operator) -> bool:
    """True if it is the one that an installed package offers under its name. Loads nothing that is not loaded."""
    found = list(entry_points(group=GROUP, name=operator.name))
    return len({entry.value for entry in found}) == 1 and found[0].module in sys.modules and found[0].load() is operator


def _loaded(entry: EntryPoint) -> Operator:
    try:
        operator = entry.load()
    except (ImportError, AttributeError, OperatorError) as error:
        raise OperatorError(f"the operator {entry.name} cannot be loaded from {entry.value}: {error}") from error
    if not isinstance(operator, Operator):
        raise OperatorError(f"{entry.value} is no operator; declare it with @tamis.operator")
    if operator.name != entry.name:
        message = f"{entry.value} is offered as {entry.name} and calls itself {operator.name}"
        raise OperatorError(f"{message}; the names must agree")
    return operator


# Operators by what a command line or a settings file calls them.


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
