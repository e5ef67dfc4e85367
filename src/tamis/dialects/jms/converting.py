"""Conversion of JMS message selectors to filters, and the attributes that they need.

Selectors have three truth values: a comparison with a property that the message lacks is *unknown*, and only *true*
selects. Each condition is written for the truth value that is wanted of it, so NOT stands before comparisons only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tamis.dialects.conversion import (
    ConversionError,
    Needs,
    Use,
    attribute_of,
    between,
    checked,
    collected,
    compared,
    one_of,
)
from tamis.dialects.jms.arithmetic import Line, Number, compares, is_plain, range_of, reduced
from tamis.dialects.jms.grammar import (
    Condition,
    IsNull,
    Name,
    Negative,
    Operand,
    SelectorArithmetic,
    SelectorComparison,
    SelectorIn,
    SelectorLike,
    SelectorLiteral,
    Truth,
    parse,
)
from tamis.errors import shown
from tamis.language import Tree, predicates
from tamis.language.patterns import like_matches, read_like, write_like
from tamis.language.predicates import Present, Versus, equals
from tamis.language.tree import FALSE, TRUE, And, Negation, Or, all_of, any_of
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain, Schema

_NUMERIC = ("integer", "float")
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TEXT = ("string", "enumerated", "hierarchical")


def convert(selector: str, schema: Schema) -> str:
    """Filter that holds for exactly the messages that the selector selects, its properties being the attributes.

    >>> schema = Schema.from_dict({"attributes": {"price": "float"}, "event_types": {"quote": {"price": "optional"}}})
    >>> convert("NOT price * 2 BETWEEN 1 AND 0x10", schema)
    'NOT price >= 0.5 OR NOT price <= 8'
    """
    if not isinstance(selector, str):
        raise ConversionError("a selector is a text", shown(selector))
    return checked(_Converter(schema).condition(parse(selector), True), schema)


class _Converter:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def condition(self, condition: Condition, wanted: bool) -> Tree:
        """Filter of the messages for which the condition is true, or (`wanted` False) false."""
        match condition:
            case Negation(operand):
                return self.condition(operand, not wanted)
            case And(items) | Or(items):
                join = all_of if isinstance(condition, And) == wanted else any_of
                return join(self.condition(item, wanted) for item in items)
            case IsNull(prop):
                return _signed(Present(self.attribute(prop).name), not wanted)
            case Truth(SelectorLiteral(value)):
                return TRUE if value is wanted else FALSE
            case Truth(Name(prop)):
                return self.truth(prop, wanted)
            case SelectorComparison():
                return self.comparison(condition, wanted)
            case SelectorIn(prop, values):
                attribute = self.attribute(prop)
                self.require_text(attribute, "IN")
                return self.listed(attribute, [value for value in values if _admits(attribute, value)], wanted)
            case SelectorLike():
                return self.like(condition, wanted)
        raise AssertionError(condition)

    def truth(self, prop: str, wanted: bool) -> Tree:
        attribute = self.attribute(prop)
        if attribute.domain.kind != "boolean":
            reason = f"{prop} is {attribute.domain.kind} in the schema and no condition by itself"
            raise ConversionError(reason, prop, "compare it with a value")
        return equals(attribute.name, wanted)

    def comparison(self, comparison: SelectorComparison, wanted: bool) -> Tree:
        left, operator, right = reduced(comparison.left), comparison.operator, reduced(comparison.right)
        if isinstance(left, Line) and isinstance(right, Line):
            return self.properties(left, operator, right, wanted)
        if isinstance(right, Line):
            left, operator, right = right, _MIRRORED[operator], left
        if isinstance(left, Line):
            assert not isinstance(right, Line)
            return self.with_value(left, operator, right, wanted)
        assert not isinstance(right, Line)
        return TRUE if _known(left, operator, right) is wanted else FALSE

    def with_value(self, line: Line, operator: str, value: Number | str | bool, wanted: bool) -> Tree:
        attribute = self.attribute(line.name)
        _require_order(operator, value)
        kind = "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
        if not is_plain(line) and attribute.domain.kind not in _NUMERIC:
            reason = f"arithmetic on {line.name}, which is {attribute.domain.kind} in the schema"
            raise ConversionError(reason, line.name, "compute with numbers")
        if kind != _kind(attribute):
            # Values that are not alike: the comparison is false, whatever the operator, and unknown without a value.
            return FALSE if wanted else Present(attribute.name)
        if operator == "<>":
            operator, wanted = "=", not wanted
        if isinstance(value, str):
            return self.listed(attribute, [value] if _admits(attribute, value) else [], wanted)
        if isinstance(value, bool):
            return equals(attribute.name, value is wanted)
        return self.numeric(attribute, line, operator, value, wanted)

    def numeric(self, attribute: Attribute, line: Line, operator: str, value: Number, wanted: bool) -> Tree:
        exact = attribute.domain.kind == "float" or isinstance(value, int)
        if is_plain(line) and exact and (isinstance(value, float) or abs(value) <= 1 << 53 or _is_integer(attribute)):
            return _signed(compared(attribute.name, operator, value), wanted)
        found = range_of(line, operator, value, attribute.domain.kind)
        if found is None:
            return FALSE if wanted else Present(attribute.name)
        within = _within(attribute, *found)
        if isinstance(within, Present):
            return within if wanted else FALSE
        return _signed(within, wanted)

    def properties(self, left: Line, operator: str, right: Line, wanted: bool) -> Tree:
        if not (is_plain(left) and is_plain(right)):
            reason = f"arithmetic with {left.name} compared with {right.name} is no comparison of two properties"
            raise ConversionError(reason, operator, "publish the result as a property of its own")
        first, second = self.attribute(left.name), self.attribute(right.name)
        if operator not in ("=", "<>"):
            for attribute in (first, second):
                if attribute.domain.kind not in _NUMERIC:
                    reason = f"{operator} is for numbers, and {attribute.name} is {attribute.domain.kind} in the schema"
                    raise ConversionError(reason, operator, "strings and booleans are compared by = and <>")
        if _kind(first) != _kind(second):
            return FALSE if wanted else all_of([Present(first.name), Present(second.name)])
        if first.domain != second.domain:
            reason = f"{first.name} is {first.domain.kind} and {second.name} is {second.domain.kind} in the schema"
            remedy = "Java compares an integer and a double as doubles, Tamis exactly: give both the same domain"
            raise ConversionError(reason, operator, remedy)
        if operator == "<>":
            operator, wanted = "=", not wanted
        return _signed(Versus(first.name, operator, second.name), wanted)

    def like(self, condition: SelectorLike, wanted: bool) -> Tree:
        attribute = self.attribute(condition.name)
        self.require_text(attribute, "LIKE")
        parts = read_like(condition.pattern, condition.escape or "")
        if parts is None:
            raise ConversionError("the pattern ends within an escape", condition.pattern)
        if isinstance(attribute.domain, EnumeratedDomain | HierarchicalDomain):
            pattern = write_like(parts)
            matching = [value for value in attribute.domain.values if like_matches(pattern, False, value)]
            return self.listed(attribute, matching, wanted)
        return _signed(predicates.Like(attribute.name, write_like(parts)), wanted)

    def listed(self, attribute: Attribute, values: list[str], wanted: bool) -> Tree:
        if not values:
            return FALSE if wanted else Present(attribute.name)
        return _signed(one_of(attribute.name, values), wanted)

    def attribute(self, prop: str) -> Attribute:
        attribute = attribute_of(prop, self.schema, prop)
        if attribute.multiple:
            reason = f"{prop} may have several values in the schema, and a message's property has one"
            raise ConversionError(reason, prop, "make it unique in the schema")
        if attribute.domain.kind == "timestamp":
            reason = f"{prop} is a timestamp in the schema, and a selector compares numbers and strings"
            raise ConversionError(reason, prop, "declare it integer, with the number that messages carry")
        return attribute

    def require_text(self, attribute: Attribute, operator: str) -> None:
        if attribute.domain.kind not in _TEXT:
            reason = f"{operator} is for strings, and {attribute.name} is {attribute.domain.kind} in the schema"
            raise ConversionError(reason, attribute.name, "compare it by = or BETWEEN")


def _signed(condition: Tree, wanted: bool) -> Tree:
    return condition if wanted else Negation(condition)


def _known(left: Number | str | bool, operator: str, right: Number | str | bool) -> bool:
    """True if a comparison of two constants holds; constants of different kinds compare as false."""
    _require_order(operator, left)
    _require_order(operator, right)
    if type(left) in (int, float) and type(right) in (int, float):
        return compares(left, operator, right)  # type: ignore[arg-type]
    if type(left) is not type(right):
        return False
    return (left == right) == (operator == "=")


def _require_order(operator: str, value: Number | str | bool) -> None:
    if operator not in ("=", "<>") and isinstance(value, str | bool):
        raise ConversionError("strings and booleans are compared by = and <> only", f"{operator} {value!r}")


def _kind(attribute: Attribute) -> str:
    kind = attribute.domain.kind
    return "number" if kind in _NUMERIC else "boolean" if kind == "boolean" else "text"


def _is_integer(attribute: Attribute) -> bool:
    return attribute.domain.kind == "integer"


def _admits(attribute: Attribute, value: str) -> bool:
    """True if the attribute can have the value; a listed domain knows."""
    domain = attribute.domain
    return not isinstance(domain, EnumeratedDomain | HierarchicalDomain) or domain.position(value) is not None


def _within(attribute: Attribute, first: Number, last: Number) -> Tree:
    """Condition of a range in the attribute's own numbers; an end of the type is left out."""
    if isinstance(first, int) and first == -(1 << 63):
        first = float("-inf")
    if isinstance(last, int) and last == (1 << 63) - 1:
        last = float("inf")
    return between(attribute.name, first, last)


# Needed attributes of selectors.

_HEADERS = {
    "JMSPriority": "float",
    "JMSTimestamp": "float",
    "JMSXDeliveryCount": "float",
    "JMSXGroupSeq": "float",
    "JMSDeliveryMode": "string",
    "JMSMessageID": "string",
    "JMSCorrelationID": "string",
    "JMSType": "string",
}
"""Header fields that selectors may name, and what they hold."""


def needed(rules: Iterable[str]) -> Needs:
    """Properties of all selectors that can be read, in the type that they are compared in."""
    return collected(rules, lambda rule: _uses(parse(rule)))


def _uses(condition: Condition) -> Iterator[Use]:
    match condition:
        case And(items) | Or(items):
            for item in items:
                yield from _uses(item)
        case Negation(item):
            yield from _uses(item)
        case Truth(Name(name)):
            yield _use(name, "boolean")
        case SelectorLike(name) | SelectorIn(name):
            yield _use(name, "string")
        case IsNull(name):
            yield _use(name, None)
        case SelectorComparison(left, operator, right):
            ordered = "float" if operator not in ("=", "<>") else None
            found = [*_compared(left, ordered or _domain(right)), *_compared(right, ordered or _domain(left))]
            yield from found
            for value in (*_constants(left), *_constants(right)):
                yield from (Use(name, number=value) for name in {use.name: None for use in found})


def _use(name: str, domain: str | None) -> Use:
    return Use(name, _HEADERS.get(name, domain))


def _compared(operand: Operand, domain: str | None) -> Iterator[Use]:
    match operand:
        case Name(name):
            yield _use(name, domain)
        case Negative(inner):
            yield from _compared(inner, "float")
        case SelectorArithmetic(left, _, right):
            yield from _compared(left, "float")
            yield from _compared(right, "float")


def _constants(operand: Operand) -> Iterator[Number]:
    match operand:
        case SelectorLiteral(int() | float() as value) if not isinstance(value, bool):
            yield value
        case Negative(inner):
            yield from (-value for value in _constants(inner))
        case SelectorArithmetic(left, _, right):
            yield from _constants(left)
            yield from _constants(right)


def _domain(operand: Operand) -> str | None:
    match operand:
        case SelectorLiteral(bool()):
            return "boolean"
        case SelectorLiteral(str()):
            return "string"
        case Name():
            return None
    return "float"
