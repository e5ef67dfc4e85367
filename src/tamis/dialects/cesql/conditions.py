"""Translation of CESQL expressions to Tamis filters: the conditions under which one is true, false, or fails.

The subset of CESQL that is translated is what subscriptions are mostly made of: string attributes compared with values
by =, !=, LIKE and IN, and EXISTS, joined by AND, OR, XOR and NOT. The rest is `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from tamis.dialects.cesql.evaluation import REQUIRED, evaluate
from tamis.dialects.cesql.functions import Value, cast, to_string
from tamis.dialects.cesql.syntax import (
    Attribute,
    Comparison,
    Exists,
    In,
    Like,
    Logic,
    LogicOperator,
    Node,
    Not,
    read_pattern,
    walk,
)
from tamis.language import predicates
from tamis.language.patterns import write_like
from tamis.language.predicates import Leaf, Present, among, attributes_of, equals
from tamis.language.tree import FALSE, TRUE, And, Constant, Negation, Or, Tree, all_of, any_of

# Formulas in two-valued logic, some of them unknown, and the tightest Tamis filter that each of them implies.
#
# Tamis has no word for "it is not so that x = 'a'" where x may be absent: `x != 'a'` asks for presence. Here every
# condition either holds or does not, and an absent attribute makes a literal not hold, negated or not; the opposite
# of a literal then holds where the attribute is absent too.


@dataclass(frozen=True, slots=True)
class Unknown:
    """Formula that holds or not, and Tamis cannot say which. Two of them need not agree."""


@dataclass(frozen=True, slots=True)
class LeafCondition:
    """Formula of one leaf: the attribute has a value and the leaf holds of it, or does not if `negated`.

    `required`: every event in question has the attribute.
    """

    leaf: Leaf
    required: bool
    negated: bool = False


Formula: TypeAlias = "And[Formula] | Or[Formula] | Negation[Formula] | Constant | LeafCondition | Unknown"
"""Here `Negation` holds wherever its item does not."""

UNKNOWN: Final = Unknown()


def size(formula: Formula) -> int:
    """Number of conditions of a formula."""
    match formula:
        case And(items) | Or(items):
            return sum(map(size, items))
        case Negation(item):
            return size(item)
        case _:
            return 1


def implied(formula: Formula, opposite: bool = False) -> tuple[Tree, bool]:
    """Filter that holds wherever the formula (or its opposite) does, and True if it holds nowhere else."""
    match formula:
        case Constant(value):
            return (TRUE if value != opposite else FALSE), True
        case Unknown():
            return TRUE, False
        case LeafCondition():
            return (_opposite_literal(formula) if opposite else _literal(formula)), True
        case Negation(item):
            return implied(item, not opposite)
        case And(items) | Or(items):
            found = [implied(item, opposite) for item in items]
            join = all_of if isinstance(formula, And) != opposite else any_of
            return join(tree for tree, _ in found), all(exact for _, exact in found)


def _literal(literal: LeafCondition) -> Tree:
    return Negation(literal.leaf) if literal.negated else literal.leaf


def _opposite_literal(literal: LeafCondition) -> Tree:
    turned = literal.leaf if literal.negated else Negation(literal.leaf)
    if literal.required or isinstance(literal.leaf, Present):
        return turned
    return any_of([turned, *(Negation(Present(name)) for name in attributes_of(literal.leaf))])


_LARGEST: Final = 300  # conditions in one formula: where operands can go wrong, formulas double with each of them

NameOf = Callable[[str], str | None]
"""The Tamis attribute that holds a context attribute; None if there is none."""


@dataclass(frozen=True, slots=True)
class Names:
    """Names of context attributes in the filter: those that hold strings, and any that may be tested for presence."""

    string: NameOf
    present: NameOf


@dataclass(frozen=True, slots=True)
class Outcome:
    """Conditions under which an expression is true, false, or either: `sure` is that evaluation has no error.

    `needs`: nothing goes wrong exactly if the event has these attributes; None if there is more to it.
    """

    true: Formula
    false: Formula
    sure: Formula
    needs: frozenset[str] | None


_UNKNOWN: Final = Outcome(UNKNOWN, UNKNOWN, UNKNOWN, None)


def translate(node: Node, names: Names) -> Formula:
    """Formula of the events that pass: the expression's value is the Boolean true, without error."""
    if _is_constant(node):
        found = evaluate(node, {})
        return Constant(found.value is True and found.error is None)
    return _Conditions(names).outcome(node).true


class _Conditions:
    def __init__(self, names: Names) -> None:
        self.names = names

    def outcome(self, node: Node) -> Outcome:
        """Outcome of an expression, whose value is cast to Boolean if it is none."""
        if _is_constant(node):
            return _constant(node)
        match node:
            case Exists(name):
                return self.exists(name)
            case Not(operand):
                inner = self.outcome(operand)
                return replace(inner, true=inner.false, false=inner.true) if _is_condition(operand) else _UNKNOWN
            case Logic(first, rest):
                found = self.outcome(first)
                for connective, operand in rest:
                    found = self.join(found, connective, self.outcome(operand))
                return found
            case Comparison():
                return self.comparison(node)
            case Like(Attribute(name), pattern, negated):
                attribute = self.names.string(name)
                if attribute is None:
                    return self.unknown(name)
                leaf = predicates.Like(attribute, write_like(read_pattern(pattern)))
                return self.leaf(name, leaf, negated)
            case In(Attribute(name), elements, negated):
                return self.membership(name, elements, negated)
            case _:
                return _UNKNOWN

    def exists(self, name: str) -> Outcome:
        attribute = self.names.present(name)
        if name in REQUIRED:
            return Outcome(TRUE, FALSE, TRUE, frozenset())
        if attribute is None:
            return Outcome(UNKNOWN, UNKNOWN, TRUE, frozenset())
        present = Present(attribute)
        absent = LeafCondition(present, False, negated=True)
        return Outcome(LeafCondition(present, False), absent, TRUE, frozenset())

    def comparison(self, node: Comparison) -> Outcome:
        match node.operator, node.left, node.right:
            case "=" | "!=", Attribute(name), other if _is_constant(other):
                value = _string(other, implicit=False)
            case "=" | "!=", other, Attribute(name) if _is_constant(other):
                # The attribute is a String, so that is what the other side is compared as.
                value = _string(other, implicit=True)
            case _, left, right:
                return self.unknown(*(side.name for side in (left, right) if isinstance(side, Attribute)))
        attribute = self.names.string(name)
        if attribute is None or value is None:
            return self.unknown(name)
        return self.leaf(name, equals(attribute, value), node.operator == "!=")

    def membership(self, name: str, elements: tuple[Node, ...], negated: bool) -> Outcome:
        attribute = self.names.string(name)
        values = {_string(element, implicit=True) if _is_constant(element) else None for element in elements}
        known = [value for value in values if value is not None]
        if attribute is None or len(known) < len(values):
            return self.unknown(name)
        return self.leaf(name, among(attribute, known), negated)

    def leaf(self, name: str, leaf: Leaf, negated: bool) -> Outcome:
        """Outcome of a comparison of one attribute, which fails only where the attribute is absent."""
        required = name in REQUIRED
        true, false = LeafCondition(leaf, required, negated), LeafCondition(leaf, required, not negated)
        needs = frozenset[str]() if required else frozenset({name})
        return Outcome(true, false, self.present(needs), needs)

    def unknown(self, *attributes: str) -> Outcome:
        """Outcome of a condition that can neither hold nor fail to unless the event has these attributes."""
        there = self.present(frozenset(attributes) - REQUIRED)
        return Outcome(all_of([there, UNKNOWN]), all_of([there, UNKNOWN]), all_of([there, UNKNOWN]), None)

    def present(self, names: frozenset[str]) -> Formula:
        found = [self.names.present(name) for name in sorted(names)]
        return all_of(UNKNOWN if name is None else LeafCondition(Present(name), False) for name in found)

    def join(self, left: Outcome, connective: LogicOperator, right: Outcome) -> Outcome:
        joined = self._join(left, connective, right)
        # A run over required attributes only adds up, and may be as long as it likes.
        added_up = max(size(left.true), size(left.false)) + max(size(right.true), size(right.false)) + 5
        if max(size(joined.true), size(joined.false), size(joined.sure)) <= max(_LARGEST, added_up):
            return joined
        if connective == "OR":
            # Looser: that nothing may go wrong on the left is left out.
            return replace(_UNKNOWN, true=all_of([any_of([left.true, right.true]), UNKNOWN]))
        if connective == "XOR" and size(joined.true) > 2 * _LARGEST:
            # AND adds to its left side, but XOR doubles it, and a run may be long.
            return _UNKNOWN
        return replace(_UNKNOWN, true=joined.true)

    def _join(self, left: Outcome, connective: LogicOperator, right: Outcome) -> Outcome:
        needs, more = None, left.sure
        if left.needs is not None and right.needs is not None and right.needs <= left.needs:
            # The right side needs nothing of its own: `more` is what the left needs beyond it.
            needs, more = left.needs, self.present(left.needs - right.needs)
        match connective:
            case "AND":
                true, false = all_of([left.true, right.true]), any_of([left.false, all_of([more, right.false])])
                sure = any_of([left.false, all_of([left.sure, right.sure])])
            case "OR":
                true, false = any_of([left.true, all_of([more, right.true])]), all_of([left.false, right.false])
                sure = any_of([left.true, all_of([left.sure, right.sure])])
            case "XOR":
                true = any_of([all_of([left.true, right.false]), all_of([left.false, right.true])])
                false = any_of([all_of([left.true, right.true]), all_of([left.false, right.false])])
                sure = all_of([left.sure, right.sure])
        # Where it is unknown whether the left goes wrong, what follows can add nothing but size.
        return Outcome(true, false, left.sure if needs is not None or left.sure == UNKNOWN else sure, needs)


def _is_condition(node: Node) -> bool:
    """True if the value is a Boolean without a cast."""
    return isinstance(node, Exists | Not | Logic | Comparison | Like | In)


def _is_constant(node: Node) -> bool:
    return not any(isinstance(part, Attribute | Exists) for part in walk(node))


def _constant(node: Node) -> Outcome:
    found = evaluate(node, {})
    value = cast(found.value, "Boolean") if found.error is None else None
    if value is None:
        return Outcome(FALSE, FALSE, FALSE, None)
    return Outcome(Constant(bool(value)), Constant(not value), TRUE, frozenset())


def _string(node: Node, implicit: bool) -> str | None:
    """Value of a constant if it is a String, or cast to one where that is `implicit`."""
    found = evaluate(node, {})
    value: Value | None = found.value if found.error is None else None
    if isinstance(value, str) or (implicit and value is not None):
        return to_string(value)
    return None
