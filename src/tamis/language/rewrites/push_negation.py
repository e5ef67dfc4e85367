"""NOT moves through AND and OR to the leaves."""

from __future__ import annotations

from dataclasses import replace

from tamis.language.calls import Call, Constraint
from tamis.language.predicates import Not
from tamis.language.pushed import Pushed
from tamis.language.tree import And, Constant, Negation, Or, Tree


def push_negation(tree: Tree, negated: bool = False) -> Pushed:
    """The same filter, or its negation, with negations at the leaves only.

    This is the definition of NOT over AND and OR: both sides of De Morgan's laws ask for presence at their leaves.
    """
    match tree:
        case Constant(value):
            return And() if value != negated else Or()
        case Negation(item):
            return push_negation(item, not negated)
        case And(items) | Or(items):
            pushed = tuple(push_negation(item, negated) for item in items)
            return And(pushed) if isinstance(tree, And) != negated else Or(pushed)
        case Call() | Constraint():
            return replace(tree, negated=negated)
    return Not(tree) if negated else tree
