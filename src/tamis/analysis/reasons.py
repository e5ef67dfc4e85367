"""Why a subscription is dear to match, and what would make it cheaper, in a line."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.analysis.cost.cost import is_ungated
from tamis.errors import FilterError
from tamis.language import Filter, normalise, parse
from tamis.language.predicates import Literal, Not, RLike, attributes_of
from tamis.language.printing import print_literal
from tamis.schema import Schema

_OFTEN = 0.1
_MANY = 8
_IN_VAIN = 20
_ALWAYS = 0.8
_SUGGESTED = 2


def reason(text: str, conjuncts: int, candidates: float, matches: float, popular: Sequence[str], schema: Schema) -> str:
    """What to do about a subscription that is looked at and matches so often an event.

    `popular` are the attributes that most subscriptions name: what is on them, the index looks up.
    """
    filter = _normal(text, schema)
    expression = None if filter is None else _expression(filter)
    if expression is not None:
        shown = print_literal(expression, schema)
        return f"{shown} is run on every value: name letters that must occur, or ask for an equality beside it"
    if matches >= _OFTEN:
        return f"it matches {matches:.0%} of events: that many matches cost that much; narrow it if fewer will do"
    if conjuncts >= _MANY:
        return f"it has {conjuncts} alternatives, each looked up by itself: ask for what they share first, or split it"
    named = set() if filter is None else {name for c in filter.conjuncts for x in c for name in attributes_of(x)}
    others = [name for name in popular if name not in named][:_SUGGESTED]
    beside = f" on {' or '.join(others)}" if others else ""
    if candidates > _ALWAYS * conjuncts:
        return f"every event looks at it, for nothing in it is looked up: ask for an equality or a short list{beside}"
    if candidates >= _IN_VAIN * max(matches, 1e-9):
        return f"it is looked at in vain: an equality, a short list or a narrow range{beside} would find it sooner"
    return "it is looked at about as often as it matches: there is little to gain"


def _normal(text: str, schema: Schema) -> Filter | None:
    try:
        return normalise(parse(text, schema), schema)
    except FilterError:  # accepted under wider limits
        return None


def _expression(filter: Filter) -> Literal | None:
    """A regular expression of the filter that nothing gates."""
    for conjunct in filter.conjuncts:
        for literal in conjunct:
            leaf = literal.leaf if isinstance(literal, Not) else literal
            if isinstance(leaf, RLike) and is_ungated(str(leaf.pattern)):
                return literal
    return None
