"""Parser of EventBridge event patterns, strict: a tree of fields, each with the tests of which one must hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tamis.dialects.conversion import ConversionError
from tamis.language.tree import And, Or
from tamis.strict_json import StrictJsonError, read_json

Number: TypeAlias = int | float

_RESERVED = frozenset(
    ["exactly", "equals-ignore-case", "prefix", "suffix", "anything-but", "exists", "wildcard", "numeric", "cidr"]
)
_DEEPEST = 30


@dataclass(frozen=True, slots=True)
class Test:
    """Entry of a field's list. `kind` is its operator, or `equal` for a plain value; `place` is its path."""

    kind: str
    value: Any
    place: str


@dataclass(frozen=True, slots=True)
class Field:
    """Field under its dotted name; one of its tests must hold for some value of it."""

    name: str
    tests: tuple[Test, ...]
    place: str


Node: TypeAlias = "Field | And[Node] | Or[Node]"


def read(pattern: Mapping[str, Any] | str) -> And[Node]:
    """Parses a pattern; `ConversionError` where event-ruler would not take it either."""
    form = _parsed(pattern) if isinstance(pattern, str) else pattern
    if not isinstance(form, Mapping):
        raise ConversionError("a pattern is a JSON object", "", 'write {"source": ["aws.ec2"]}')
    root = _object(form, "", "", in_or=False, depth=0)
    _refuse_repeated(root)
    return root


def fields(node: Node) -> Iterator[Field]:
    """Fields of the tree, in order."""
    if isinstance(node, Field):
        yield node
    else:
        for item in node.items:
            yield from fields(item)


def _parsed(text: str) -> Any:
    try:
        return read_json(text, deepest=None, exact=True)
    except StrictJsonError as error:
        if error.name is None:
            raise ConversionError(f"the pattern is no JSON: {error.reason}") from None
        remedy = "join the two lists, or use $or"
        raise ConversionError("the name is given twice in one object", error.name, remedy) from None


def _object(form: Mapping[str, Any], prefix: str, place: str, in_or: bool, depth: int) -> And[Node]:
    if not form:
        raise ConversionError("an empty object says nothing", place, "leave it out")
    if depth > _DEEPEST:
        raise ConversionError(f"the pattern is nested more than {_DEEPEST} deep", place, "flatten it: dots join names")
    parts: list[Node] = []
    for key, value in form.items():
        here = f"{place}.{key}" if place else str(key)
        if key == "$or" and _is_or(value):
            branches = (
                _object(branch, prefix, f"{here}[{at}]", in_or=True, depth=depth + 1) for at, branch in enumerate(value)
            )
            parts.append(Or(tuple(branches)))
        elif key == "$or":
            remedy = "write a list of two or more objects, without the names of operators in them"
            raise ConversionError("this is no alternative of event patterns", here, remedy)
        elif in_or and key in _RESERVED:
            raise ConversionError(f"{key} is an operator and no field's name within $or", here, "rename the field")
        elif isinstance(value, Mapping):
            parts.append(_object(value, f"{prefix}{key}.", here, in_or, depth + 1))
        elif isinstance(value, list):
            parts.append(_field(f"{prefix}{key}", value, here))
        else:
            raise ConversionError("expected a list of values or an object of fields", here, "put it into [ ]")
    return And(tuple(parts))


def _is_or(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(isinstance(branch, Mapping) for branch in value)


def _field(name: str, values: list[Any], place: str) -> Field:
    if not values:
        raise ConversionError("an empty list matches nothing", place, "give a value, or leave the field out")
    tests = tuple(_test(value, f"{place}[{at}]") for at, value in enumerate(values))
    return Field(name, tests, place)


def _test(value: Any, place: str) -> Test:
    if not isinstance(value, Mapping):
        if isinstance(value, list):
            raise ConversionError("a value is a string, a number, true, false, null or one operator", place)
        return Test("equal", value, place)
    if len(value) != 1:
        raise ConversionError("an operator is an object with one name", place, "put each operator into { } of its own")
    (kind, operand) = next(iter(value.items()))
    here = f"{place}.{kind}"
    if kind not in _RESERVED:
        known = ", ".join(sorted(_RESERVED))
        raise ConversionError(f"there is no operator {kind}", here, f"the operators are {known}")
    return Test(kind, operand, here)


def _refuse_repeated(root: And[Node]) -> None:
    """Refuses a field in two lists at once: event-ruler takes the last one it meets, EventBridge refuses it."""

    def walk(node: Node) -> dict[str, str]:
        if isinstance(node, Field):
            return {node.name: node.place}
        met: dict[str, str] = {}
        for item in node.items:
            found = walk(item)
            if isinstance(node, And) and (both := met.keys() & found.keys()):
                name = min(both)
                remedy = "say it once, or in each branch of $or"
                raise ConversionError(f"{name} is given a second time, beside {met[name]}", found[name], remedy)
            met |= found
        return met

    walk(root)
