"""An operator under a schema: which of its parameters the event fills, and which a call's arguments do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tamis.errors import OperatorError
from tamis.language.calls import Signature
from tamis.operators.definition import Formal, Operator
from tamis.schema import Schema

EVENT = "event"


@dataclass(frozen=True, slots=True)
class Input:
    """A parameter that the event fills: with an attribute's value, or, where `attribute` is None, with the event."""

    formal: Formal
    attribute: str | None


@dataclass(frozen=True)
class Resolved:
    """An operator whose parameters are dealt out. `inputs` and `arguments` are each in the function's order."""

    operator: Operator
    inputs: tuple[Input, ...]
    arguments: tuple[Formal, ...]

    @property
    def signature(self) -> Signature:
        """Signature that the language needs to check calls."""
        listed = tuple(formal.parameter for formal in self.arguments if formal.passed != "as rest")
        rest = next((formal.parameter for formal in self.arguments if formal.passed == "as rest"), None)
        return Signature(self.operator.name, listed, rest, self.operator.version)

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
    """Deals the parameters out; `OperatorError` if the schema lacks an attribute, or an argument cannot be spelled."""
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
    """The attribute that fills a parameter, `event` for all of them, None if a call's argument does."""
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
