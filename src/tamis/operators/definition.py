"""Definition of an operator: a function of an event and a call's arguments, and what is declared of it."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tamis.errors import OperatorError
from tamis.language.calls import Parameter

TIME_LIMIT = 30.0
"""Seconds that a call may take if its operator does not say otherwise."""


class _Variable:
    """The type of `Var`, of which there is one object."""

    _only: _Variable | None = None

    def __new__(cls) -> _Variable:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "tamis.Var"

    def __reduce__(self) -> str:
        return "Var"


Var: Any = _Variable()
"""As a parameter's default: a variable may stand there. As its value in a call: one does, so return its bindings."""


@dataclass(frozen=True, slots=True)
class Formal:
    """A parameter of an operator's function, as an argument of calls would see it.

    `unfit` says why it can be none (its annotation or its default is nothing that a filter can spell); it may still be
    an input from the event.
    """

    parameter: Parameter
    passed: Literal["by position", "by name", "as rest"] = "by position"
    unfit: str = ""


@dataclass(frozen=True, eq=False)
class Operator:
    """A function that filters may call by name, scalar (one event a call) or batch (Arrow in, Arrow out).

    `reads` says which parameters the event fills, by attribute; None: by their names (see resolution.py). `cost` is in
    any unit that all operators of an index share; None: learned from timings, in milliseconds. `selectivity` is how
    likely a call is to hold, until observation says otherwise; None: not known beforehand. `version` tells results of
    old code from those of new. `together`: a batch operator whose arguments are arrays too, so that one of its calls
    answers many of filters. Immutable; calling it calls the function.
    """

    name: str
    function: Callable[..., Any]
    formals: tuple[Formal, ...]
    version: str = "1"
    cost: float | None = None
    selectivity: float | None = None
    time_limit: float | None = TIME_LIMIT
    batch: bool = False
    together: bool = False
    reads: Mapping[str, str] | None = None
    prepare: Callable[[], object] | None = None
    about: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        # Looks like the function it stands for; not by update_wrapper, which a frozen class refuses.
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            object.__setattr__(self, name, getattr(self.function, name, None))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    def __repr__(self) -> str:
        return f"<operator {self.name} {self.version}>"

    def with_cost(self, cost: float | None) -> Operator:
        """Operator with another declared cost, or with None: learned."""
        return dataclasses.replace(self, cost=cost)

    def with_selectivity(self, selectivity: float | None) -> Operator:
        """Operator with another declared selectivity, or with None: learned."""
        return dataclasses.replace(self, selectivity=selectivity)

    def __reduce__(self) -> tuple[Any, ...]:
        """By its place where it has one: what its module has loaded is then loaded once a process, and never sent."""
        module, path = str(self.__module__), str(getattr(self, "__qualname__", ""))
        fields = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        placed = None if module == "__main__" else _found(module, path)
        if isinstance(placed, Operator) and placed.function is self.function:
            return _imported, (module, path, {k: v for k, v in fields.items() if v is not getattr(placed, k)})
        return _rebuilt, (fields,)


def _found(module: str, path: str) -> object:
    """Object of an importable module under a dotted name; None if there is none."""
    try:
        found: object = importlib.import_module(module)
    except ImportError:
        return None
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _imported(module: str, path: str, changes: dict[str, Any]) -> Operator:
    found = _found(module, path)
    if not isinstance(found, Operator):
        raise OperatorError(f"{module} has no operator {path} here; its module must be the same everywhere")
    return dataclasses.replace(found, **changes) if changes else found


def _rebuilt(fields: dict[str, Any]) -> Operator:
    return Operator(**fields)
