"""Covering of two filters: `covers`, `relate` (both directions), and events that refute it (`difference`).

A cover that is reported holds; one may be missed where patterns or many alternatives stand in the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntFlag

from tamis.language.forms import Filter
from tamis.language.predicates import (
    EARLIEST,
    LATEST,
    Literal,
    Never,
    Not,
    OneOf,
    Present,
    Value,
    attributes_of,
    equals,
    write_timestamp,
)
from tamis.language.tree import Conjunct
from tamis.matching.conditions import satisfied
from tamis.routing.covering.exact_values import is_absence
from tamis.routing.covering.summary import Summary
from tamis.routing.covering.witness import Event, UndecidedError, witness
from tamis.schema import EVENT_TYPE, Schema

# Counterexamples: an event that satisfies one filter and not another shows that the other does not cover it.

MOST_STEPS = 2_000
"""Ways that are tried for one conjunct."""
MOST_LOOKED_AT = 500_000
"""Literals and alternatives that are looked at for all conjuncts together."""


def counter_example(weaker: Filter, stronger: Filter, schema: Schema) -> Event | None:
    """Event that matches `stronger` and not `weaker`; None if every event that matches the one matches the other.

    `UndecidedError` if that was not found out: where patterns stand in the way, or after many steps. Which attributes
    an event's types allow is not looked at, only which values its attributes can have.
    """
    search = _Search(schema)
    undecided = False
    for conjunct in stronger.conjuncts:
        try:
            found = search.run(conjunct, weaker.conjuncts)
        except UndecidedError:
            undecided = True
        else:
            if found is not None:
                return found
    if undecided:
        raise UndecidedError
    return None


def satisfies(event: Event, conjunct: Sequence[Literal], schema: Schema) -> bool:
    """True if an event satisfies all literals."""
    return all(satisfied(literal, event, schema) for literal in conjunct)


class _Search:
    """Search for an event that matches a conjunct and no alternative of a filter, over all ways to fail each
    alternative.

    What is looked at is counted over all conjuncts, so that two filters of very many alternatives take no minutes.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._looked = 0

    def run(self, conjunct: Conjunct, alternatives: Sequence[Conjunct]) -> Event | None:
        """Event that satisfies the conjunct and none of the alternatives; None if there is none."""
        undecided = False
        steps = 0
        # A list, not recursion: with many alternatives, Python's stack would not do.
        open_ways: list[tuple[Conjunct, Sequence[Conjunct]]] = [(conjunct, alternatives)]
        while open_ways:
            literals, others = open_ways.pop()
            steps += 1
            self._looked += len(literals) + len(others)
            if steps > MOST_STEPS or self._looked > MOST_LOOKED_AT:
                raise UndecidedError
            event: Event | None = None
            try:
                event = witness(literals, self._schema)
            except UndecidedError:
                unknown = True
            else:
                unknown = False
                if event is None:
                    continue
            left = [a for a in others if event is None or satisfies(event, a, self._schema)]
            if left:
                first = min(left, key=len)
                rest = [alternative for alternative in others if alternative is not first]
                ways = [opposite for literal in first for opposite in opposites(literal)]
                open_ways += [((*literals, *opposite), rest) for opposite in reversed(ways)]
            elif unknown:
                undecided = True
            else:
                return event
        if undecided:
            raise UndecidedError
        return None


def opposites(literal: Literal) -> Iterator[tuple[Literal, ...]]:
    """Ways in which a literal fails: an attribute is absent, or all are present and the literal does not hold."""
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


# Differences for people: counterexamples in the form in which events are published.

_MOST_TYPES = 50


def difference(matching: Filter, other: Filter, schema: Schema) -> dict[str, object] | None:
    """Event that matches the one filter and not the other; None if there is none, or none was found.

    One that is valid under the schema is looked for first: of one event type, with what that type wants.
    """
    found: Event | None = None
    for name in list(schema.event_types)[:_MOST_TYPES]:
        asked = _of_type(name, schema)
        within = Filter(tuple((*conjunct, *asked) for conjunct in matching.conjuncts))
        found = _counter_example(other, within, schema)
        if found is not None:
            break
    else:
        found = _counter_example(other, matching, schema)
    return None if found is None else as_published(found, schema)


def as_published(event: Event, schema: Schema) -> dict[str, object]:
    """Event as a dict: one value or a list, timestamps as texts; the default event type is left out."""
    form: dict[str, object] = {}
    for name in schema.attributes:
        values = [_written(value, name, schema) for value in event.get(name, ())]
        if not values or (name == EVENT_TYPE and values == [schema.default_event_type]):
            continue
        form[name] = values if schema.attributes[name].multiple else values[0]
    return form


def _counter_example(weaker: Filter, stronger: Filter, schema: Schema) -> Event | None:
    try:
        return counter_example(weaker, stronger, schema)
    except UndecidedError:
        return None


def _of_type(name: str, schema: Schema) -> list[Literal]:
    """Condition of an event of this type and no other: its required attributes, and no unknown ones."""
    view = schema.view([name])
    others = tuple(sorted(other for other in schema.event_types if other != name))
    asked: list[Literal] = [equals(EVENT_TYPE, name)]
    if others:
        asked.append(Not(equals(EVENT_TYPE, others[0]) if len(others) == 1 else OneOf(EVENT_TYPE, others)))
    asked += [Present(attribute) for attribute, annotation in view.items() if annotation.mandatory]
    asked += [Not(Present(attribute)) for attribute in schema.attributes if attribute not in (EVENT_TYPE, *view)]
    return asked


def _written(value: Value, name: str, schema: Schema) -> object:
    if schema.attributes[name].domain.kind == "timestamp":
        text = write_timestamp(int(min(max(value, EARLIEST), LATEST)))
        return (text if " " in text else f"{text} 00:00:00").replace(" ", "T") + "Z"
    return value


class Relation(IntFlag):
    """Covering in both directions as two bits; those of a whole are the common bits of its parts (Li et al. 2005,
    §4.2).

    The first filter is covered by the second, covers it, or both, which makes them equal.
    """

    NEITHER = 0
    COVERED = 1
    COVERS = 2
    EQUAL = 3


def relate(a: Filter, b: Filter, schema: Schema) -> Relation:
    """Covering in both directions, of `b` by `a` and of `a` by `b`; for two conjunctions in one pass over both.

    A bit that is set is true. One that is not set is false if each filter is one conjunction of comparisons; else it
    may be that a cover was not seen, where patterns or many alternatives stand in the way.
    """
    if a == b:
        return Relation.EQUAL
    ours, theirs = _summaries(a, schema), _summaries(b, schema)
    if len(ours) == len(theirs) == 1:
        found = _relate_conjuncts(ours[0], theirs[0])
    else:
        found = Relation.COVERS if _all_covered(theirs, ours) else Relation.NEITHER
        found |= Relation.COVERED if _all_covered(ours, theirs) else Relation.NEITHER
    if found == Relation.EQUAL or _is_exact(ours, theirs):
        return found
    if not found & Relation.COVERS and _refuted(a, b, schema):
        found |= Relation.COVERS
    if not found & Relation.COVERED and _refuted(b, a, schema):
        found |= Relation.COVERED
    return found


def covers(a: Filter, b: Filter, schema: Schema) -> bool:
    """True if every event that matches `b` provably matches `a`; False also where undecided (see `relate`)."""
    ours, theirs = _summaries(a, schema), _summaries(b, schema)
    if _all_covered(theirs, ours):
        return True
    return not _is_exact(ours, theirs) and _refuted(a, b, schema)


def _all_covered(conjuncts: list[Summary], others: list[Summary]) -> bool:
    """True if each of the conjuncts implies one of the others."""
    # What both have needs no look at all pairs, which may be millions.
    common = {other.literals for other in others}
    return all(
        conjunct.literals in common or any(all(map(conjunct.implies, other.literals)) for other in others)
        for conjunct in conjuncts
    )


def _is_exact(a: list[Summary], b: list[Summary]) -> bool:
    """True if implications are decided exactly for this filter: one conjunction of comparisons."""
    return len(a) <= 1 and len(b) <= 1 and all(summary.plain for summary in (*a, *b))


def _summaries(filter: Filter, schema: Schema) -> list[Summary]:
    """Summaries of the conjuncts that are satisfiable, as far as is seen."""
    return [s for conjunct in filter.conjuncts if not (s := Summary(conjunct, schema)).impossible]


def _relate_conjuncts(a: Summary, b: Summary) -> Relation:
    """Relation of two conjuncts, attribute by attribute; ends as soon as neither direction is left."""
    bits = Relation.EQUAL
    for name in dict.fromkeys((*a.names, *b.names)):
        if bits & Relation.COVERS and not all(map(b.implies, a.on(name))):
            bits &= ~Relation.COVERS
        if bits & Relation.COVERED and not all(map(a.implies, b.on(name))):
            bits &= ~Relation.COVERED
        if not bits:
            break
    return bits


def _refuted(weaker: Filter, stronger: Filter, schema: Schema) -> bool:
    """True if provably no event matches the stronger filter and not the weaker."""
    try:
        return counter_example(weaker, stronger, schema) is None
    except UndecidedError:
        return False
