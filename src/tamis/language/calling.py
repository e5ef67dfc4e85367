"""Checker of operator calls and constraints in a filter: names, argument counts and types of a parsed text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sqlglot import exp

from tamis.errors import FilterError, FilterSyntaxError, FilterTypeError
from tamis.language.calls import (
    Argument,
    Arithmetic,
    Call,
    Constraint,
    Expression,
    Field,
    Given,
    Moment,
    OperatorSignature,
    Parameter,
    Signatures,
    Variable,
    oriented,
)
from tamis.language.comparisons import Comparisons, Known, evaluate, is_constant
from tamis.language.predicates import Slot
from tamis.language.syntax import span
from tamis.language.tree import And, Tree
from tamis.schema import Attribute, EnumeratedDomain, Schema
from tamis.schema.domains import PLAIN_DOMAINS

_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_EXACT = 1 << 53

Kind: TypeAlias = str
"""`number`, `string`, `boolean`, `timestamp`, or `any`: not known before the operator answers."""
Attributes: TypeAlias = Callable[[exp.Expr], Attribute]
"""Looks the attribute up that a node names, or raises."""


class Calling:
    """The calls and constraints of one text. Attributes in constraints are looked up by whoever checks the text.

    A variable has one kind wherever it stands, which its calls determine: all calls are read (`read_calls`) before any
    constraint is.
    """

    def __init__(self, text: str, schema: Schema, operators: Signatures, comparisons: Comparisons) -> None:
        self.text = text
        self.schema = schema
        self.operators = operators
        self.comparisons = comparisons
        self._calls: dict[int, Call] = {}
        self._kinds: dict[str, tuple[Kind, str]] = {}
        self._slots: dict[int, Kind] = {}
        self._left_out = 0

    def read_calls(self, expression: exp.Expr) -> None:
        """Reads every call of the text, from left to right."""
        found = sorted(expression.find_all(exp.Anonymous), key=lambda node: node.meta.get("start", 0))
        for node in found:
            self._calls[id(node)] = self._call(node)

    def call(self, node: exp.Anonymous) -> Call:
        """Call that `read_calls` made of this node."""
        return self._calls[id(node)]

    @property
    def has_calls(self) -> bool:
        return bool(self._calls)

    def compare(self, node: exp.Expr, left: Expression, operator: str, right: Expression) -> Constraint:
        """Constraint `left operator right`, turned round where only the right side has variables."""
        kinds = {kind for side in (left, right) if (kind := self._kind(side)) != "any"}
        if len(kinds) > 1:
            raise self.error(
                FilterTypeError, f"a {self._kind(left)} cannot be compared with a {self._kind(right)}", node
            )
        if kinds == {"boolean"} and operator not in ("=", "!="):
            raise self.error(FilterTypeError, "booleans have no order; compare them by = or !=", node)
        if operator not in ("=", "!="):
            for side in (left, right):
                self._require_order(side, node)
        return oriented(Constraint(left, operator, right))

    def between(self, node: exp.Expr, middle: Expression, low: Expression, high: Expression) -> Tree:
        """Constraints for `middle BETWEEN low AND high`."""
        for side in (middle, low, high):
            if isinstance(side, Field) and self.schema.attributes[side.attribute].multiple:
                message = f"{side.attribute} has several values; compare it with the variable by <= or >= instead"
                raise self.error(FilterTypeError, message, node)
        return And((self.compare(node, middle, ">=", low), self.compare(node, middle, "<=", high)))

    def one_of(self, node: exp.Expr, left: Expression, listed: list[exp.Expr]) -> Constraint:
        """Constraint `left IN (listed)`."""
        values: list[Given] = []
        for item in listed:
            if not is_constant(item):
                raise self.error(FilterSyntaxError, "IN takes values; write ?x = ?y OR ?x = ?z", item)
            value = self.constant(evaluate(item, self.text), self._kind(left))
            self.compare(item, left, "=", value)
            values.append(value)
        return Constraint(left, "IN", tuple(values))

    def sides(self, nodes: list[exp.Expr], attributes: Attributes) -> list[Expression]:
        """All sides of a constraint. Beside a timestamp, a string is one too."""
        found = {id(node): self.expression(node, attributes) for node in nodes if not is_constant(node)}
        beside = "timestamp" if "timestamp" in map(self._kind, found.values()) else "any"
        for node in nodes:
            if id(node) not in found:
                found[id(node)] = self.constant(evaluate(node, self.text), beside)
        return [found[id(node)] for node in nodes]

    def expression(self, node: exp.Expr, attributes: Attributes) -> Expression:
        """One side of a constraint, or a part of one."""
        while isinstance(node, exp.Paren) and node.find(exp.Predicate) is None:
            node = node.this
        if is_constant(node):
            return self.constant(evaluate(node, self.text))
        if isinstance(node, exp.Placeholder):
            return Variable(node.name, node.name)
        if isinstance(node, exp.Neg):
            return Arithmetic("-", 0, self._number(node.this, attributes))
        if type(node) in _ARITHMETIC:
            left, right = (self._number(side, attributes) for side in (node.this, node.expression))
            return Arithmetic(_ARITHMETIC[type(node)], left, right)
        attribute = attributes(node)
        self.comparisons.require_comparable(attribute, *span(node))
        return Field(attribute.name)

    def constant(self, known: Known, beside: Kind = "any") -> Given:
        """A value that a constraint spells out, compared with something of a kind."""
        if known.kind == "null":
            message = "a comparison with NULL never holds; a variable is always bound to something"
            raise FilterTypeError(message, self.text, known.start, known.end)
        moment = beside == "timestamp" and known.kind == "string"
        return self._given(known, "timestamp" if moment else "any", "this value", ())

    def _number(self, node: exp.Expr, attributes: Attributes) -> Expression:
        side = self.expression(node, attributes)
        kind = self._kind(side)
        if kind not in ("number", "any"):
            raise self.error(FilterTypeError, f"arithmetic needs numbers, and this is a {kind}", node)
        if isinstance(side, Field) and self.schema.attributes[side.attribute].multiple:
            message = f"{side.attribute} has several values, and arithmetic needs one; compare it by itself"
            raise self.error(FilterTypeError, message, node)
        return side

    def _kind(self, side: Expression) -> Kind:
        match side:
            case bool():
                return "boolean"
            case int() | float() | Arithmetic():
                return "number"
            case str():
                return "string"
            case Moment():
                return "timestamp"
            case Variable(name):
                return self._kinds[name][0] if name in self._kinds else "any"
            case Field(attribute):
                return _kind_of(self.schema.attributes[attribute].domain.kind)
            case Slot(number):
                return self._slots.get(number, "any")

    def _require_order(self, side: Expression, node: exp.Expr) -> None:
        if isinstance(side, Field):
            attribute = self.schema.attributes[side.attribute]
            if attribute.domain.kind in ("enumerated", "hierarchical"):
                message = f"{side.attribute} is {attribute.domain.kind}; a variable compares with it by = and != only"
                raise self.error(FilterTypeError, message, node)

    def _call(self, node: exp.Anonymous) -> Call:
        signature = self.operators[node.name]
        given = node.expressions
        most = None if signature.rest else len(signature.parameters)
        least = sum(not (p.optional or p.variable) for p in signature.parameters)
        if len(given) < least or (most is not None and len(given) > most):
            raise self._miscounted(node, signature, least, most)
        parameters = list(signature.parameters)
        if signature.rest is not None:
            parameters += [signature.rest] * (len(given) - len(parameters))
        arguments = [
            self._argument(item, parameter, signature) for item, parameter in zip(given, parameters, strict=False)
        ]
        arguments += [self._default(parameter) for parameter in parameters[len(given) :]]
        return Call(signature.name, tuple(arguments))

    def _miscounted(
        self, node: exp.Anonymous, signature: OperatorSignature, least: int, most: int | None
    ) -> FilterError:
        wanted = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
        count = len(node.expressions)
        message = f"{signature.name} takes {wanted} arguments and is given {count}; write {signature}"
        return self.error(FilterTypeError, message, node)

    def _argument(self, node: exp.Expr, parameter: Parameter, signature: OperatorSignature) -> Argument:
        if isinstance(node, exp.Placeholder):
            if not parameter.variable:
                message = f"no variable can stand for {parameter.name}; write {signature} with a value there"
                raise self.error(FilterTypeError, message, node)
            self._note_kind(node, parameter, signature)
            return Variable(node.name, node.name)
        if not is_constant(node):
            message = f"{signature.name} takes values and variables; what it reads of the event is not written"
            raise self.error(FilterTypeError, message, node)
        known = evaluate(node, self.text)
        if known.kind == "null" and parameter.optional and parameter.default is None:
            return None
        return self._given(known, parameter.kind, parameter.name, parameter.choices)

    def _note_kind(self, node: exp.Placeholder, parameter: Parameter, signature: OperatorSignature) -> None:
        kind = _kind_of(parameter.kind)
        known, where = self._kinds.get(node.name, ("any", ""))
        if "any" not in (known, kind) and known != kind:
            message = f"?{node.name} is a {known} in {where} and a {kind} in {signature.name}; use two names"
            raise self.error(FilterTypeError, message, node)
        if known == "any":
            self._kinds[node.name] = kind, signature.name

    def _default(self, parameter: Parameter) -> Argument:
        if parameter.variable:
            self._left_out += 1
            return Variable(f" {self._left_out}")  # a name that cannot be written
        if parameter.kind == "float" and isinstance(parameter.default, int):
            return float(parameter.default)
        return parameter.default

    def _given(self, known: Known, kind: str, name: str, choices: tuple[str, ...]) -> Given:
        if known.kind == "null":
            message = f"{name} cannot be NULL; write a value"
            raise FilterTypeError(message, self.text, known.start, known.end)
        if kind == "any":
            whole = isinstance(known.value, int) or (isinstance(known.value, float) and _is_whole(known.value))
            kind = ("integer" if whole else "float") if known.kind == "number" else known.kind
        domain = EnumeratedDomain(choices, name=name) if choices else PLAIN_DOMAINS[kind]
        value = self.comparisons.given(Attribute(name, domain, False, -1), known)
        if isinstance(value, Slot):
            self._slots[value.number] = _kind_of(kind)
        return Moment(value) if kind == "timestamp" else value  # type: ignore[arg-type]  # a timestamp is an integer

    def error(self, kind: type[FilterError], message: str, node: exp.Expr) -> FilterError:
        return kind(message, self.text, *span(node))


def _kind_of(kind: str) -> Kind:
    """Kind of a variable's values, given that of a parameter or of an attribute's domain."""
    if kind in ("integer", "float"):
        return "number"
    return "string" if kind in ("enumerated", "hierarchical") else kind


def _is_whole(value: float) -> bool:
    return value.is_integer() and abs(value) <= _EXACT
