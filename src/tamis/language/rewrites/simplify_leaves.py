"""Each leaf by itself: the one way to write it, or TRUE, FALSE or presence where it comes down to that."""

from __future__ import annotations

from dataclasses import replace

from tamis.language.calls import Call, Constraint, fields_of, opposite, part_key
from tamis.language.extents import NOTHING, everything
from tamis.language.literals import alternatives_of, known_extent, leaf_of, literals_of, negatives_of
from tamis.language.patterns import Wildcard, read_like, write_like
from tamis.language.predicates import Between, Leaf, Like, Literal, Never, Not, Present, RLike, Slot, Versus, equals
from tamis.language.pushed import Pushed
from tamis.language.rewrites.fold_constants import fold_constants
from tamis.language.tree import And, Or
from tamis.schema import Attribute, Schema


def simplify_leaves(pushed: Pushed, schema: Schema) -> Pushed:
    """The same filter with every leaf in its simplest form."""
    return fold_constants(_simplified(pushed, schema))


def _simplified(pushed: Pushed, schema: Schema) -> Pushed:
    match pushed:
        case And(items):
            return And(tuple(_simplified(item, schema) for item in items))
        case Or(items):
            return Or(tuple(_simplified(item, schema) for item in items))
        case Not(leaf):
            return _literal(_leaf(leaf, schema), True, schema)
        case Call():
            return pushed
        case Constraint():
            return _constraint(pushed, schema)
    return _literal(_leaf(pushed, schema), False, schema)


def _constraint(leaf: Constraint, schema: Schema) -> Constraint:
    """Turned round instead of negated, unless an attribute may have several values; lists in order, without repeats."""
    if isinstance(leaf.right, tuple):
        values = tuple(sorted({part_key(value): value for value in leaf.right}.values(), key=part_key))
        single = len(values) == 1 and not isinstance(values[0], Slot)
        leaf = replace(leaf, operator="=", right=values[0]) if single else replace(leaf, right=values)
    if leaf.negated and not any(schema.attributes[name].multiple for name in fields_of(leaf)):
        return opposite(leaf)
    return leaf


def _leaf(leaf: Leaf, schema: Schema) -> Leaf:
    """The leaf in its one form, before its sign is looked at."""
    match leaf:
        case Like(attribute, pattern, ignore_case) if not isinstance(pattern, Slot):
            parts = read_like(pattern.lower() if ignore_case else pattern) or []
            if not ignore_case and not any(isinstance(part, Wildcard) for part in parts):
                return equals(attribute, "".join(map(str, parts)))
            written = write_like(parts)
            return _always(attribute) if written == "%" else Like(attribute, written, ignore_case)
        case RLike(attribute, ""):
            return _always(attribute)
        case Versus(left, operator, right) if left == right:
            single = not schema.attributes[left].multiple
            if operator == "<":
                return Never(left) if single else leaf
            return _always(left)
        case Versus(left, "=", right):
            return Versus(min(left, right), "=", max(left, right))
    return leaf


def _always(attribute: str) -> Leaf:
    """A comparison that any value satisfies. Not `Present`, whose negation is absence."""
    return Between(attribute, None, None)


def _literal(leaf: Leaf, negated: bool, schema: Schema) -> Pushed:
    if isinstance(leaf, Versus):
        return _reversed(leaf, schema) if negated else leaf
    attribute = schema.attributes[leaf.attribute]
    if isinstance(leaf, Present):
        return Not(leaf) if negated else leaf
    literal: Literal = Not(leaf) if negated else leaf
    if attribute.multiple:
        return _of_many(leaf, negated, attribute)
    extent = known_extent(literal, attribute)
    if extent is None:
        return _flipped(leaf) if negated else leaf
    if extent == NOTHING:
        return Or()
    if leaf_of(extent, attribute) is None and not negated:
        return Or(tuple(alternatives_of(extent, attribute)))
    return And(tuple(literals_of(extent, attribute)))


def _of_many(leaf: Leaf, negated: bool, attribute: Attribute) -> Pushed:
    extent = known_extent(leaf, attribute)
    if extent is None:
        return Not(leaf) if negated else leaf
    if not negated:
        return Or() if extent == NOTHING else Or(tuple(alternatives_of(extent, attribute)))
    if extent == everything(attribute):
        return Or()
    return Present(attribute.name) if extent == NOTHING else And(tuple(negatives_of(extent, attribute)))


def _flipped(leaf: Leaf) -> Literal:
    """The negation of a range with one end that is a slot is the range on its other side."""
    match leaf:
        case Between(name, low, None, closed):
            return Between(name, None, low, high_closed=not closed)
        case Between(name, None, high, _, closed):
            return Between(name, high, None, low_closed=not closed)
    return Not(leaf)


def _reversed(leaf: Versus, schema: Schema) -> Literal:
    """Of two single values in a total order, one is not below the other iff the other is not above it."""
    left, right = schema.attributes[leaf.left], schema.attributes[leaf.right]
    total = left.domain.kind in ("integer", "float", "string", "timestamp")
    if leaf.operator == "=" or left.multiple or right.multiple or not total:
        return Not(leaf)
    return Versus(leaf.right, "<=" if leaf.operator == "<" else "<", leaf.left)
