"""Parser of filters: from text, by sqlglot's expression, to a syntax tree checked against the schema."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from difflib import get_close_matches

from sqlglot import exp

from tamis.errors import FilterError, FilterSyntaxError, FilterTooComplex, FilterTypeError, PatternError
from tamis.language.calling import Calling
from tamis.language.calls import NO_OPERATORS, Signatures
from tamis.language.comparisons import Comparisons, Known, evaluate, is_constant, moment, number
from tamis.language.patterns import read_like, write_like
from tamis.language.predicates import Present, Versus, equals
from tamis.language.syntax import read, span
from tamis.language.tree import DEFAULT_LIMITS, FALSE, TRUE, And, Constant, Limits, Negation, Or, Tree
from tamis.schema import Attribute, Schema

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.ArrayContains: "=",
}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NUMERIC = ("integer", "float")


def parse(text: str, schema: Schema, limits: Limits = DEFAULT_LIMITS, operators: Signatures = NO_OPERATORS) -> Tree:
    """Syntax tree of a filter; `FilterError`, with place and remedy, if the text is no filter over the schema."""
    return check(text, schema, Comparisons(text, limits), operators)


def check(text: str, schema: Schema, comparisons: Comparisons, operators: Signatures = NO_OPERATORS) -> Tree:
    """Syntax tree of a filter, as `parse`, with leaves of the given making."""
    calling = Calling(text, schema, operators, comparisons)
    checker = Checker(text, schema, comparisons, calling)
    expression = read(text, comparisons.limits, operators)
    try:
        if operators:
            calling.read_calls(expression)
        return checker.condition(expression)
    except RecursionError:
        raise FilterTooComplex("the filter is nested too deeply; take parentheses off", text, 0, len(text)) from None


class Checker:
    """Turns sqlglot's expressions into leaves and connectives, or says what is wrong with them."""

    def __init__(self, text: str, schema: Schema, comparisons: Comparisons, calling: Calling) -> None:
        self.text = text
        self.schema = schema
        self.comparisons = comparisons
        self.calling = calling
        self.terms = 0

    def condition(self, node: exp.Expr) -> Tree:
        match node:
            case exp.And() | exp.Or():
                items = tuple(self.condition(item) for item in chain(node))
                return And(items) if isinstance(node, exp.And) else Or(items)
            case exp.Paren():
                return self.condition(node.this)
            case exp.Not():
                return Negation(self.condition(node.this))
            case exp.Boolean():
                return TRUE if node.this else FALSE
            case exp.Column() | exp.Dot():
                return self.bare(node)
        self.terms += 1
        if self.terms > self.comparisons.limits.terms:
            message = f"the filter has more than {self.terms - 1:,} comparisons; split it into several subscriptions"
            raise self.error(FilterTooComplex, message, node)
        if isinstance(node, exp.Anonymous):
            return self.calling.call(node)
        if self.calling.has_calls and (found := self.constraint(node)) is not None:
            return found
        match node:
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE() | exp.ArrayContains():
                return self.comparison(node)
            case exp.Is():
                return Negation(Present(self.attribute(node.this).name))
            case exp.Between():
                attribute = self.compared_attribute(node)
                low, high = (self.constant(node.args[end], "BETWEEN") for end in ("low", "high"))
                return self.comparisons.between(attribute, low, high)
            case exp.In():
                attribute = self.compared_attribute(node)
                return self.comparisons.one_of(attribute, [self.constant(item, "IN") for item in node.expressions])
            case exp.Like() | exp.ILike() | exp.RegexpLike() | exp.Escape():
                return self.pattern(node)
        raise self.error(FilterSyntaxError, "a condition is expected here: compare an attribute with a value", node)

    def comparison(self, node: exp.Expr) -> Tree:
        left, right, operator = node.this, node.expression, _OPERATORS[type(node)]
        if is_constant(left) and is_constant(right):
            return self.known_comparison(node, self.known(left), operator, self.known(right))
        if is_constant(left):
            left, right, operator = right, left, _MIRRORED[operator]
        attribute = self.attribute(left)
        leaf: Callable[[str], Tree]
        if is_constant(right):
            known = self.known(right)
            leaf = lambda operator: self.comparisons.compare(attribute, operator, known)  # noqa: E731
        else:
            other = self.attribute(right)
            leaf = lambda operator: self.versus(node, attribute, operator, other)  # noqa: E731
        return Negation(leaf("=")) if operator == "!=" else leaf(operator)

    def constraint(self, node: exp.Expr) -> Tree | None:
        """Constraint for a comparison with variables; None for any other condition."""
        calling, attribute = self.calling, self.attribute
        match node:
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE() | exp.ArrayContains():
                sides = [node.this, node.expression]
            case exp.Between():
                sides = [node.this, node.args["low"], node.args["high"]]
            case exp.In():
                sides = [node.this]
            case _:
                return None
        if not any(side.find(exp.Placeholder) for side in sides):
            return None
        given = calling.sides(sides, attribute)
        if isinstance(node, exp.Between):
            return calling.between(node, *given)
        if isinstance(node, exp.In):
            return calling.one_of(node, given[0], node.expressions)
        if isinstance(node, exp.NEQ):
            return Negation(calling.compare(node, given[0], "=", given[1]))
        return calling.compare(node, given[0], _OPERATORS[type(node)], given[1])

    def known_comparison(self, node: exp.Expr, left: Known, operator: str, right: Known) -> Constant:
        kinds = {left.kind, right.kind}
        if "null" in kinds or (len(kinds) > 1 and kinds != {"timestamp", "string"}):
            raise self.error(FilterTypeError, f"a {left.kind} cannot be compared with a {right.kind}", node)
        if kinds == {"boolean"} and operator not in ("=", "!="):
            raise self.error(FilterTypeError, "booleans have no order; compare them by = or !=", node)
        a, b = left.value, right.value
        if "timestamp" in kinds:
            a, b = moment(left, self.text), moment(right, self.text)
        elif "number" in kinds:
            a, b = number(left, self.text), number(right, self.text)
        a_first = a < b  # type: ignore[operator]
        return Constant(
            {"=": a == b, "!=": a != b, "<": a_first, ">=": not a_first, "<=": a_first or a == b}.get(
                operator, not a_first and a != b
            )
        )

    def versus(self, node: exp.Expr, left: Attribute, operator: str, right: Attribute) -> Tree:
        if left.domain != right.domain and not (left.domain.kind in _NUMERIC and right.domain.kind in _NUMERIC):
            message = (
                f"{left.name} is {_described(left)} and {right.name} is {_described(right)}; compare like with like"
            )
            raise self.error(FilterTypeError, message, node)
        self.comparisons.require_comparable(left, *span(node))
        if operator != "=":
            self.comparisons.require_order(left, *span(node))
        if operator in (">", ">="):
            left, right, operator = right, left, _MIRRORED[operator]
        return Versus(left.name, operator, right.name)

    def pattern(self, node: exp.Expr) -> Tree:
        escape: exp.Expr | None = None
        if isinstance(node, exp.Escape):
            node, escape = node.this, node.expression
            if not isinstance(node, exp.Like | exp.ILike):
                raise self.error(FilterSyntaxError, "ESCAPE follows a LIKE or ILIKE pattern only", node)
        attribute = self.compared_attribute(node)
        known = self.constant(node.expression, "a pattern comparison")
        if isinstance(node, exp.RegexpLike):
            return self.comparisons.rlike(attribute, known)
        if escape is not None:
            known = self.escaped(known, self.known(escape))
        leaf = self.comparisons.like(attribute, known, isinstance(node, exp.ILike))
        return Negation(leaf) if node.args.get("negate") else leaf

    def escaped(self, pattern: Known, escape: Known) -> Known:
        """Pattern with backslashes for its escapes."""
        if len(str(escape.value)) != 1 or str(escape.value) in "%_":
            message = "ESCAPE takes one character that is no wildcard; write ESCAPE '!'"
            raise FilterSyntaxError(message, self.text, escape.start, escape.end)
        parts = read_like(str(pattern.value), str(escape.value))
        if parts is None:
            message = f"the pattern ends within an escape; write {escape.value}{escape.value} for the character itself"
            raise PatternError(message, self.text, pattern.start, pattern.end)
        return replace(pattern, value=write_like(parts), literal=None)

    def bare(self, node: exp.Expr) -> Tree:
        """A name by itself is a condition if it is boolean."""
        attribute = self.attribute(node)
        if attribute.domain.kind != "boolean":
            message = f"{attribute.name} is {attribute.domain.kind} and no condition by itself; compare it with a value"
            raise self.error(FilterTypeError, message, node)
        return equals(attribute.name, True)

    def compared_attribute(self, node: exp.Expr) -> Attribute:
        if is_constant(node.this):
            raise self.error(FilterSyntaxError, "an attribute is expected here, on the left", node.this)
        return self.attribute(node.this)

    def attribute(self, node: exp.Expr) -> Attribute:
        if isinstance(node, exp.Paren) and node.find(exp.Predicate) is None:
            return self.attribute(node.this)
        if isinstance(node, exp.Placeholder):
            message = f"?{node.name} is a variable of an operator, and this filter calls none; write a value"
            if self.calling.has_calls:
                message = f"?{node.name} is a variable; compare it by =, !=, <, <=, >, >=, BETWEEN or IN"
            raise self.error(FilterSyntaxError, message, node)
        if not isinstance(node, exp.Column | exp.Dot):
            raise self.no_attribute(node)
        return self.named(".".join(part.name for part in node.parts), node)

    def named(self, name: str, node: exp.Expr) -> Attribute:
        """Attribute that a name in the text stands for."""
        attribute = self.schema.attributes.get(name)
        if attribute is None:
            remedy = suggestion(name, self.schema.attributes, "the schema", _where_values_stand(node))
            raise self.error(FilterTypeError, f"there is no attribute {name}; {remedy}", node)
        return attribute

    def no_attribute(self, node: exp.Expr) -> FilterError:
        if isinstance(node, exp.Neg | exp.Add | exp.Sub | exp.Mul | exp.Div):
            message = "arithmetic on attributes is not part of filters; compute with values: price > 2 * 100"
        elif isinstance(node, exp.LT | exp.LTE | exp.GT | exp.GTE):
            message = "comparisons cannot be chained; write 1 < x AND x < 5"
        else:
            message = "a condition cannot be compared; join conditions by AND, OR and NOT"
        return self.error(FilterSyntaxError, message, node)

    def constant(self, node: exp.Expr, where: str) -> Known:
        if not is_constant(node):
            self.attribute(node)
            raise self.error(FilterSyntaxError, f"{where} takes values, not attributes; write x = y or x <= y", node)
        return self.known(node)

    def known(self, node: exp.Expr) -> Known:
        return evaluate(node, self.text)

    def error(self, kind: type[FilterError], message: str, node: exp.Expr) -> FilterError:
        return kind(message, self.text, *span(node))


def chain(node: exp.Expr) -> Iterable[exp.Expr]:
    """Operands of a run of one connective, which sqlglot nests to the left however long it is."""
    kind, items = type(node), []
    while type(node) is kind:
        items.append(node.expression)
        node = node.this
    return [node, *reversed(items)]


def _described(attribute: Attribute) -> str:
    domain = attribute.domain
    return domain.kind if domain.name == domain.kind or not domain.name else f"{domain.kind} ({domain.name})"


def _where_values_stand(node: exp.Expr) -> bool:
    """True if a value might have stood here: on the right of a comparison, or in a list."""
    parent = node.parent
    if parent is None or isinstance(parent, exp.Connector | exp.Unary):
        return False
    return node.arg_key != "this" and not is_constant(parent.this)


def suggestion(name: str, known: Collection[str], owner: str, or_text: bool = False) -> str:
    """Suggestion for a name that `owner` does not have, perhaps a text that lacks its quotes."""
    lowered = {one.lower(): one for one in known}
    close = get_close_matches(name.lower(), lowered, 1)
    if close:
        return f"did you mean {lowered[close[0]]}?"
    if or_text:
        text = name.strip("‘’“”").replace("'", "''")
        return f"a text stands in single quotes: '{text}'"
    return f"{owner} has " + ", ".join(list(known)[:8]) + (", ..." if len(known) > 8 else "")
