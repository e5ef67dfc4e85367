"""An event that satisfies one filter and not another: what shows that the other does not cover it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from tamis.language.normal_form import Filter
from tamis.language.predicates import Literal, Never, Not, Present, attributes_of
from tamis.language.pushed import Conjunct
from tamis.matching.naive import holds
from tamis.routing.covering.exact_values import is_absence
from tamis.routing.covering.unknowns import UndecidedError
from tamis.routing.covering.witness import Event, witness
from tamis.schema import Schema

MOST_STEPS = 2_000


def counter_example(weaker: Filter, stronger: Filter, schema: Schema) -> Event | None:
    """An event that matches `stronger` and not `weaker`; None if every event that matches the one matches the other.

    `UndecidedError` if that was not found out: where patterns stand in the way, or after many steps. Which attributes
    an event's types allow is not looked at, only which values its attributes can have.
    """
    return _first(partial(_Search(schema).run, conjunct, weaker.conjuncts) for conjunct in stronger.conjuncts)


def _first(searches: Iterable[Callable[[], Event | None]]) -> Event | None:
    """The first event that one of the searches finds; undecided if none does, and one of them is."""
    undecided = False
    for search in searches:
        try:
            found = search()
        except UndecidedError:
            undecided = True
        else:
            if found is not None:
                return found
    if undecided:
        raise UndecidedError
    return None


def satisfies(event: Event, conjunct: Sequence[Literal], schema: Schema) -> bool:
    """Whether an event satisfies all literals."""
    return all(
        holds(literal.leaf, event, schema, negated=True) if isinstance(literal, Not) else holds(literal, event, schema)
        for literal in conjunct
    )


class _Search:
    """One conjunct against the alternatives of a filter: of each some literal must fail, and all ways are tried."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._steps = 0

    def run(self, literals: Conjunct, alternatives: Sequence[Conjunct]) -> Event | None:
        """An event that satisfies the literals and none of the alternatives; None if there is none."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise UndecidedError
        undecided = False
        event: Event | None = None
        try:
            event = witness(literals, self._schema)
        except UndecidedError:
            undecided = True
        else:
            if event is None:
                return None
        left = [a for a in alternatives if event is None or satisfies(event, a, self._schema)]
        if not left:
            if undecided:
                raise UndecidedError
            return event
        first = min(left, key=len)
        rest = [alternative for alternative in alternatives if alternative is not first]
        ways = (opposite for literal in first for opposite in opposites(literal))
        return _first(partial(self.run, (*literals, *opposite), rest) for opposite in ways)


def opposites(literal: Literal) -> Iterator[tuple[Literal, ...]]:
    """The ways in which a literal fails: an attribute is absent, or all are there and it does not hold."""
    if is_absence(literal):
        yield (Present(attributes_of(literal)[0]),)
        return
    for name in dict.fromkeys(attributes_of(literal)):
        yield (Not(Present(name)),)
    if isinstance(literal, Present):
        return
    if isinstance(literal, Not):
        if not isinstance(literal.leaf, Never):
            yield (literal.leaf,)
    else:
        yield (Not(literal),)
