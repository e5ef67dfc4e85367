"""Registry of operators: definition, lookup by name (handed over or in installed packages), parameters by schema."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal

from tamis.errors import OperatorError
from tamis.language.calls import OperatorSignature, Parameter
from tamis.schema import Schema

# Definition of an operator: a function of an event and a call's arguments, with its declared properties.

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
    """Parameter of an operator's function, as an argument of calls would see it.

    `unfit` says why it can be none (its annotation or its default is nothing that a filter can spell); it may still be
    an input from the event.
    """

    parameter: Parameter
    passed: Literal["by position", "by name", "as rest"] = "by position"
    unfit: str = ""


@dataclass(frozen=True, eq=False)
class Operator:
    """A function that filters may call by name, scalar (one event a call) or batch (Arrow in, Arrow out).

    `reads` says which parameters the event fills, by attribute; None: by their names (see `resolve`). `cost` is in
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
        """Pickles by its place where it has one: its module's data is then loaded once a process, and never sent."""
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


GROUP = "tamis.operators"
"""The entry points under which a package offers operators: `name = "module:operator"`, a line an operator."""


class Registry(Mapping[str, Operator]):
    """Operators that the filters of one index may call. Names are unique; immutable."""

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
    """Names of all operators that installed packages offer, sorted; none of them is loaded."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def installed(name: str) -> Operator:
    """Operator that an installed package offers under this name, loaded now."""
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
    """True if it is the one that an installed package offers under its name. Loads no other module."""
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


# Operators by their names on a command line or in a settings file.


def operators_named(names: Iterable[str]) -> list[Operator]:
    """Operators of these names, in order; nothing else is loaded. `OperatorError` if one is not to be had.

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


# Resolution of an operator under a schema: parameters that the event fills, and parameters of a call.

EVENT = "event"


@dataclass(frozen=True, slots=True)
class Input:
    """Parameter that the event fills: with an attribute's value, or, where `attribute` is None, with the event."""

    formal: Formal
    attribute: str | None


@dataclass(frozen=True)
class Resolved:
    """Operator whose parameters are resolved under a schema: inputs from the event, arguments from the call.

    `inputs` and `arguments` are each in the function's order.
    """

    operator: Operator
    inputs: tuple[Input, ...]
    arguments: tuple[Formal, ...]

    @property
    def signature(self) -> OperatorSignature:
        """Signature that the language needs to check calls."""
        listed = tuple(formal.parameter for formal in self.arguments if formal.passed != "as rest")
        rest = next((formal.parameter for formal in self.arguments if formal.passed == "as rest"), None)
        return OperatorSignature(self.operator.name, listed, rest, self.operator.version)

    def passed(self, inputs: Sequence[Any], arguments: Sequence[Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Arguments of the function, by position and by name, given the values of both."""
        if self._in_order:
            return (*inputs, *arguments), {}
        listed = [formal for formal in self.arguments if formal.passed != "as rest"]
        values = {given.formal.parameter.name: value for given, value in zip(self.inputs, inputs, strict=True)}
        values |= {formal.parameter.name: value for formal, value in zip(listed, arguments, strict=False)}
        by_position: list[Any] = []
        by_name: dict[str, Any] = {}
        for formal in self.operator.formals:
            if formal.passed == "as rest":
                by_position += arguments[len(listed) :]
            elif formal.passed == "by name":
                by_name[formal.parameter.name] = values[formal.parameter.name]
            else:
                by_position.append(values[formal.parameter.name])
        return by_position, by_name

    @cached_property
    def _in_order(self) -> bool:
        """True if the inputs come first and all is passed by position."""
        dealt = [*(given.formal for given in self.inputs), *self.arguments]
        return tuple(dealt) == self.operator.formals and all(formal.passed != "by name" for formal in dealt)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Attributes that must be present for the operator to be called."""
        return tuple(dict.fromkeys(given.attribute for given in self.inputs if given.attribute is not None))

    @property
    def reads_event(self) -> bool:
        """True if it is given the whole event."""
        return any(given.attribute is None for given in self.inputs)


def resolve(operator: Operator, schema: Schema) -> Resolved:
    """Resolves the parameters; `OperatorError` if the schema lacks an attribute, or an argument cannot be spelled."""
    inputs: list[Input] = []
    arguments: list[Formal] = []
    leading = True
    for formal in operator.formals:
        parameter = formal.parameter
        attribute = _attribute(operator, formal, schema, leading)
        if attribute is None:
            leading = False
            _check(operator, formal, arguments)
            arguments.append(formal)
        else:
            inputs.append(Input(formal, None if attribute == EVENT and parameter.name == EVENT else attribute))
    return Resolved(operator, tuple(inputs), tuple(arguments))


def _attribute(operator: Operator, formal: Formal, schema: Schema, leading: bool) -> str | None:
    """Attribute that fills a parameter, `event` for all of them, None if a call's argument does."""
    name = formal.parameter.name
    if operator.reads is not None:
        attribute = operator.reads.get(name)
        if attribute is None and name == EVENT and leading:
            return EVENT
        if attribute is not None and attribute not in schema.attributes and not attribute == name == EVENT:
            raise OperatorError(f"operator {operator.name} reads {attribute}, an attribute that the schema has not")
        return attribute
    given = formal.parameter.variable or formal.parameter.optional or formal.passed != "by position"
    if not leading or given:
        return None
    if name == EVENT:
        return EVENT
    return next((known for known in (name, name.replace("__", ".")) if known in schema.attributes), None)


def _check(operator: Operator, formal: Formal, before: list[Formal]) -> None:
    name = formal.parameter.name
    if formal.unfit:
        raise OperatorError(
            f"operator {operator.name}: its parameter {name} is no attribute of the schema, so a filter gives it, "
            f"but {formal.unfit}"
        )
    if formal.passed == "as rest" and formal.parameter.variable:
        raise OperatorError(f"operator {operator.name}: a variable cannot stand for *{name}; name its parameters")
    if any(other.passed == "as rest" or other.parameter.optional for other in before) and not (
        formal.parameter.optional or formal.parameter.variable
    ):
        message = f"operator {operator.name}: {name} comes after arguments that may be left out"
        raise OperatorError(f"{message}; give it a default, or move it before them")
    if any(other.passed == "as rest" for other in before):
        raise OperatorError(f"operator {operator.name}: nothing can be given after *; move {name} before it")
