"""Conversion of EventBridge event patterns to filters, the attributes that they need, and warnings of lost meaning.

A field of an event may hold several values (an array); each test of event-ruler looks at one of them at a time, so a
field passes if *some* value passes *some* test, `anything-but` included. Tamis's negation says that *no* value matches,
so on attributes with several values `anything-but` is written without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import AddressValueError, IPv4Network, IPv6Address, IPv6Network, NetmaskValueError
from itertools import combinations, takewhile
from typing import Any

from tamis.dialects.conversion import ConversionError, Needs, Use, attribute_of, checked, collected, one_of
from tamis.dialects.eventbridge import texts
from tamis.dialects.eventbridge import texts as numbers
from tamis.dialects.eventbridge.reading import Field, Node, Number, Test, fields, read
from tamis.dialects.eventbridge.texts import is_number
from tamis.dialects.text_patterns import v4_range, v6_network
from tamis.errors import shown
from tamis.language import Tree
from tamis.language.patterns import rlike_matches
from tamis.language.predicates import Present, RLike, Value
from tamis.language.tree import And, Negation, Or, all_of, any_of
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain, Schema

_LISTED = ("enumerated", "hierarchical")
_STRING_TESTS = ("exactly", "prefix", "suffix", "equals-ignore-case", "wildcard")


def convert(pattern: Mapping[str, Any] | str, schema: Schema, *, null_is_absent: bool = False) -> str:
    """Filter that holds for exactly the events that the pattern matches.

    Tamis does not tell a null from a field that is left out, so `null` among the values is refused, unless
    `null_is_absent` says that events have none or that the difference is of no matter.

    >>> form = {"attributes": {"source": "string"}, "event_types": {"event": {"source": "optional"}}}
    >>> schema = Schema.from_dict(form)
    >>> convert({"source": [{"prefix": "aws."}]}, schema)
    "source LIKE 'aws.%'"
    """
    return checked(_Converter(schema, null_is_absent).node(read(pattern)), schema)


class _Converter:
    def __init__(self, schema: Schema, null_is_absent: bool) -> None:
        self.schema = schema
        self.null_is_absent = null_is_absent

    def node(self, node: Node) -> Tree:
        match node:
            case And(parts):
                return all_of(self.node(part) for part in parts)
            case Or(parts):
                return any_of(self.node(part) for part in parts)
            case Field():
                return self.field(node)

    def field(self, field: Field) -> Tree:
        """Disjunction of the field's tests; plain values go into one list."""
        attribute = attribute_of(field.name, self.schema, field.place)
        equal: list[Value] = []
        conditions: list[Tree] = []
        for test in field.tests:
            value = self.plain(attribute, test)
            if value is None:
                conditions.append(self.test(attribute, test))
            else:
                equal.append(value)
        return any_of([one_of(attribute.name, equal), *conditions] if equal else conditions)

    def plain(self, attribute: Attribute, test: Test) -> Value | None:
        """Value that the attribute must equal; None if the test is something else."""
        kind = attribute.domain.kind
        match test.kind, test.value:
            case "equal", bool(value):
                self.require(attribute, ("boolean",), test)
                return value
            case "equal", int() | float():
                self.require(attribute, ("integer", "float"), test)
                return numbers.finite(test.value, test.place)
            case "equal" | "exactly", str(value) if kind == "string" and (test.kind == "exactly" or not _is_v6(value)):
                return value
        return None

    def test(self, attribute: Attribute, test: Test) -> Tree:
        present = Present(attribute.name)
        match test.kind, test.value:
            case "exists", bool(wanted):
                return present if wanted else Negation(present)
            case "equal", None:
                if not self.null_is_absent:
                    reason = "a null is the same as a field that is left out, in Tamis"
                    raise ConversionError(reason, test.place, "convert with null_is_absent where that is what is meant")
                return Negation(present)
            case "numeric", operand:
                self.require(attribute, ("integer", "float"), test)
                return numbers.numeric(attribute, operand, test.place)
            case "cidr", operand:
                return self.address(attribute, operand, test)
            case "anything-but", operand if _all_numbers(operand):
                return self.other_number(attribute, test)
            case "equal", str(value) if attribute.domain.kind == "string" and _is_v6(value):
                # event-ruler compares addresses as addresses, however they are spelled.
                return self.networks(attribute, v6_network(IPv6Network(value)))
            case "equal" | "anything-but", _:
                return self.text_test(attribute, test)
            case kind, _ if kind in _STRING_TESTS:
                return self.text_test(attribute, test)
        raise ConversionError(f"{test.kind} does not take {shown(test.value)}", test.place)

    def text_test(self, attribute: Attribute, test: Test) -> Tree:
        patterns = texts.alternatives(test)
        self.require(attribute, ("string", *_LISTED), test)
        excluding = test.kind == "anything-but"
        if isinstance(attribute.domain, EnumeratedDomain | HierarchicalDomain):
            return one_of(
                attribute.name,
                (
                    value
                    for value in attribute.domain.values
                    if any(texts.matches(pattern, value) for pattern in patterns) != excluding
                ),
            )
        if not excluding:
            return texts.condition(attribute.name, patterns[0])
        if attribute.multiple:
            return texts.some_other(attribute.name, patterns, test.place)
        return all_of(Negation(texts.condition(attribute.name, pattern)) for pattern in patterns)

    def other_number(self, attribute: Attribute, test: Test) -> Tree:
        self.require(attribute, ("integer", "float"), test)
        excluded = test.value if isinstance(test.value, list) else [test.value]
        for value in excluded:
            numbers.finite(value, test.place)
        if attribute.multiple:
            return numbers.some_other_number(attribute, excluded)
        return Negation(one_of(attribute.name, excluded))

    def address(self, attribute: Attribute, operand: object, test: Test) -> Tree:
        """Condition on the network of the address: bits beyond the length do not count."""
        self.require(attribute, ("string", *_LISTED), test)
        base, _, length = str(operand).partition("/")
        try:
            if not isinstance(operand, str) or not length.isascii() or not length.isdigit():
                raise AddressValueError
            if int(length) >= (128 if ":" in base else 32):
                raise AddressValueError
            if ":" in base:
                return self.networks(attribute, v6_network(IPv6Network(operand, strict=False)))
            network = IPv4Network(operand, strict=False)
            first, last = int(network.network_address), int(network.broadcast_address)
            return self.networks(attribute, [v4_range(first, last)])
        except (AddressValueError, NetmaskValueError):
            remedy = "write an address, / and the number of bits: 10.0.0.0/24, 2001:db8::/32"
            raise ConversionError(f"{shown(operand)} is no network", test.place, remedy) from None

    def networks(self, attribute: Attribute, patterns: list[str]) -> Tree:
        if isinstance(attribute.domain, EnumeratedDomain | HierarchicalDomain):
            values = (value for value in attribute.domain.values if any(rlike_matches(p, value) for p in patterns))
            return one_of(attribute.name, values)
        return any_of(RLike(attribute.name, pattern) for pattern in patterns)

    def require(self, attribute: Attribute, kinds: tuple[str, ...], test: Test) -> None:
        """Raises `ConversionError` for a value of another type than the attribute's: the rule was written for
        another field."""
        if attribute.domain.kind in kinds:
            return
        wanted = {"integer": "a number", "boolean": "a boolean", "string": "a string"}[kinds[0]]
        reason = f"the pattern asks for {wanted} and {attribute.name} is {attribute.domain.kind} in the schema"
        remedy = "an attribute has one domain: give values of another type a name of their own"
        raise ConversionError(reason, test.place, remedy)


def _is_v6(text: str) -> bool:
    if ":" not in text or "." in text or "%" in text:
        return False
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True


def _all_numbers(operand: object) -> bool:
    values = operand if isinstance(operand, list) else [operand]
    return bool(values) and all(numbers.is_number(value) for value in values)


# Needed attributes of event patterns.

_ARRAYS = frozenset(["resources"])
"""What EventBridge's own envelope gives as an array. A pattern does not say which of its fields are arrays."""


def needed(rules: Iterable[Mapping[str, Any] | str], *, multiple: Iterable[str] = ()) -> Needs:
    """Attributes of all patterns that can be read; `multiple` names those that come as arrays."""
    needs = collected(rules, _uses)
    for name in (_ARRAYS | frozenset(multiple)) & needs.keys():
        needs[name].multiple = True
    return needs


def _uses(rule: Mapping[str, Any] | str) -> Iterator[Use]:
    for field in fields(read(rule)):
        for test in field.tests:
            yield Use(field.name, _domain(test))
            yield from (Use(field.name, number=value) for value in _numbers(test))


def _numbers(test: Test) -> Iterator[Number]:
    """Numbers that the test compares a value with."""
    if test.kind in ("equal", "anything-but", "numeric"):
        operands = test.value if isinstance(test.value, list) else [test.value]
        yield from (operand for operand in operands if is_number(operand))


def _domain(test: Test) -> str | None:
    operand = test.value
    if test.kind == "anything-but" and isinstance(operand, list) and operand:
        operand = operand[0]
    if test.kind == "anything-but" and isinstance(operand, bool):
        return None  # `convert` tells of it
    match test.kind:
        case "exists":
            return None
        case "numeric":
            return "float"
        case "equal" | "anything-but":
            if operand is None:
                return None
            if isinstance(operand, bool):
                return "boolean"
            return "float" if is_number(operand) else "string"
    return "string"


# Warnings: conditions on one object of an array, which event-ruler holds together, and a filter does not.

_ENVELOPE = "detail"


def loosened(pattern: Mapping[str, Any] | str, schema: Schema) -> list[str]:
    """Sentences on what the pattern's filter cannot keep, one for each array of objects; empty where nothing is lost.

    event-ruler asks that conditions on members of an array's objects hold for one object. In Tamis each may hold for
    another one. Where neither of two attributes has several values, no array is expected.

    >>> several = {"detail.jobs.id": ["optional", "multiple"], "detail.jobs.state": ["optional", "multiple"]}
    >>> schema = Schema.from_dict({"attributes": dict.fromkeys(several, "string"), "event_types": {"event": several}})
    >>> loosened({"detail": {"jobs": {"id": ["a"], "state": ["on"]}}}, schema)
    ['detail.jobs: if this is an array, the conditions on id and state may hold for different objects of it']
    """
    shared: dict[str, list[str]] = {}
    for first, second in _together(read(pattern)):
        parent = _parent(first, second)
        if parent in ("", _ENVELOPE) or not (_is_multiple(first, schema) or _is_multiple(second, schema)):
            continue
        members = shared.setdefault(parent, [])
        members += [name for name in (first, second) if name not in members]
    return [
        f"{parent}: if this is an array, the conditions on "
        f"{' and '.join(name.removeprefix(f'{parent}.') for name in names)} may hold for different objects of it"
        for parent, names in shared.items()
    ]


def _together(node: Node) -> Iterator[tuple[str, str]]:
    """Pairs of fields that the pattern asks for at once."""
    if isinstance(node, Field):
        return
    if isinstance(node, And):
        names = [[field.name for field in fields(item)] for item in node.items]
        for left, right in combinations(names, 2):
            yield from ((first, second) for first in left for second in right)
    for item in node.items:
        yield from _together(item)


def _parent(first: str, second: str) -> str:
    """Common object of two names."""
    steps = zip(first.split(".")[:-1], second.split(".")[:-1], strict=False)
    return ".".join(left for left, _ in takewhile(lambda step: step[0] == step[1], steps))


def _is_multiple(name: str, schema: Schema) -> bool:
    attribute = schema.attributes.get(name)
    return attribute is not None and attribute.multiple
