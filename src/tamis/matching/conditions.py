"""Evaluation of single conditions of a filter on one event, and the conditions that made it match.

Explanations and notifications report which conditions held; both decide it here. None of this is the oracle's
(naive.py), which walks the tree as it was written: tests hold the two to each other.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from tamis.errors import EventError, Violation
from tamis.language import CalledFilter, Filter
from tamis.language.calls import Call, Called, Variable, parts_of, with_parts
from tamis.language.patterns import like_pattern, rlike_pattern
from tamis.language.predicates import (
    Between,
    Like,
    Literal,
    Never,
    Not,
    OneOf,
    Order,
    Present,
    RLike,
    Versus,
    attributes_of,
)
from tamis.language.printing import print_called, print_literal
from tamis.schema import EVENT_TYPE, EnumeratedDomain, HierarchicalDomain, Schema

# Values of events in the language's types, read out of canonical Arrow batches.

Values: TypeAlias = Mapping[str, Sequence[Any]]
"""Attribute → its values in one event; absent: missing or empty."""


def event_values(batch: pa.RecordBatch, schema: Schema) -> list[dict[str, list[Any]]]:
    """Rows of a canonical batch in the language's types: a list of values for every attribute that is present."""
    rows: list[dict[str, list[Any]]] = [{} for _ in range(len(batch))]
    for name in schema.attributes:
        if name not in batch.schema.names:
            continue
        for number, listed in enumerate(_in_language(batch.column(name)).to_pylist()):
            values = [value for value in (listed if isinstance(listed, list) else [listed]) if value is not None]
            if any(isinstance(value, float) and math.isnan(value) for value in values):
                raise EventError([Violation(number, name, "domain", math.nan, f"{name} is NaN, which is no value")])
            if values:
                rows[number][name] = values
    if schema.default_event_type is not None:
        for row in rows:
            row.setdefault(EVENT_TYPE, [schema.default_event_type])
    return rows


def _in_language(column: pa.Array) -> pa.Array:
    """Values in the language's types: timestamps as microseconds, for not all of them are Python datetimes."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64())
    if pa.types.is_list(column.type) and pa.types.is_timestamp(column.type.value_type):
        return column.cast(pa.list_(pa.int64()))
    return column


Evaluator: TypeAlias = Callable[..., bool]
"""Takes the values of each attribute that a literal is about, in the order of `attributes_of`; none: it is absent."""


def satisfied(literal: Literal, values: Values, schema: Schema) -> bool:
    """True if one literal holds for one event; for many events there is `evaluator_of`."""
    return evaluator_of(literal, schema)(*(values.get(name, ()) for name in attributes_of(literal)))


def evaluator_of(literal: Literal, schema: Schema) -> Evaluator:
    """Evaluator of a literal: a function of its attributes' values.

    A leaf holds iff some value satisfies it, and its negation iff its attributes are present and it does not hold.
    """
    match literal:
        case Not(Present()):
            return operator.not_
        case Not(leaf):
            holds = evaluator_of(leaf, schema)
            return lambda *values: all(values) and not holds(*values)
        case Present():
            return bool
        case Never():
            return lambda values: False
        case Between():
            return _within(literal)
        case OneOf(_, listed):
            wanted = frozenset(listed)
            return lambda values: not wanted.isdisjoint(values)
        case Order(attribute, sign, bound):
            ordered = frozenset(_ordered(attribute, sign, bound, schema))
            return lambda values: not ordered.isdisjoint(values)
        case Like(_, pattern, ignore_case):
            like = like_pattern(str(pattern), ignore_case)
            if ignore_case:
                return lambda values: any(like.matches(value.lower()) for value in values)
            return lambda values: any(map(like.matches, values))
        case RLike(_, pattern):
            search = rlike_pattern(str(pattern)).search
            return lambda values: any(search(value) is not None for value in values)
        case Versus():
            return _some_pair(literal, schema)


def _within(leaf: Between) -> Evaluator:
    low: Any = leaf.low
    high: Any = leaf.high
    if leaf.is_equality:
        return lambda values: low in values
    above = operator.ge if leaf.low_closed else operator.gt
    below = operator.le if leaf.high_closed else operator.lt

    def within(values: Sequence[Any]) -> bool:
        # Most conditions are such ones, on one value: a loop takes half the time of `any`.
        for value in values:
            high_enough = low is None or above(value, low)
            if high_enough and (high is None or below(value, high)):
                return True
        return False

    return within


def _ordered(attribute: str, sign: str, bound: Any, schema: Schema) -> Iterable[str]:
    """Values of a listed domain that compare so with another one; none if the domain does not have that one."""
    domain = schema.attributes[attribute].domain
    assert isinstance(domain, EnumeratedDomain | HierarchicalDomain)
    if domain.position(bound) is None:
        return ()
    return (domain.values[position] for position in domain.satisfying(sign, bound))


def _some_pair(leaf: Versus, schema: Schema) -> Evaluator:
    if leaf.operator == "=":
        return lambda ours, theirs: not frozenset(ours).isdisjoint(theirs)
    if isinstance(schema.attributes[leaf.left].domain, EnumeratedDomain | HierarchicalDomain):
        return lambda ours, theirs: any(
            not frozenset(_ordered(leaf.left, leaf.operator, bound, schema)).isdisjoint(ours) for bound in theirs
        )
    # Some pair compares so iff the least value of the one and the greatest of the other do.
    compares = operator.lt if leaf.operator == "<" else operator.le
    return lambda ours, theirs: bool(ours and theirs) and bool(compares(min(ours), max(theirs)))


class Condition(NamedTuple):
    """One literal of a normal form: its text, the attributes that it is about, and the evaluator of their values.

    `number` tells the distinct conditions of a filter apart: each may stand in hundreds of alternatives.
    """

    number: int
    text: str
    attributes: tuple[str, ...]
    holds: Evaluator


class DistinctConditions:
    """Conditions of filters under one schema, each distinct one made once."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._known: dict[Literal, Condition] = {}

    def of(self, literal: Literal) -> Condition:
        found = self._known.get(literal)
        if found is None:
            text, holds = print_literal(literal, self._schema), evaluator_of(literal, self._schema)
            found = self._known[literal] = Condition(len(self._known), text, attributes_of(literal), holds)
        return found


class CalledCondition(NamedTuple):
    """A call or a constraint: not decided here, for operators are called once. `names` are of its variables."""

    text: str
    names: tuple[str, ...]


class Alternative(NamedTuple):
    """Conditions that all hold where the alternative does; `binds` are the names of the variables its calls bind."""

    plain: tuple[Condition, ...]
    called: tuple[CalledCondition, ...] = ()
    binds: frozenset[str] = frozenset()


def alternatives_of(form: Filter | CalledFilter, schema: Schema) -> tuple[Alternative, ...]:
    """Alternatives of a normal form, each distinct condition made once."""
    conditions = DistinctConditions(schema)
    if isinstance(form, Filter):
        return tuple(Alternative(tuple(map(conditions.of, conjunct))) for conjunct in form.conjuncts)
    return tuple(
        Alternative(tuple(map(conditions.of, conjunct)), tuple(map(_called, case.called)), _bound_by(case.called))
        for case in form.cases
        for conjunct in case.guard
    )


def what_held(
    alternatives: Iterable[Alternative], values: Callable[[str], Sequence[Any]], bound: AbstractSet[str] = frozenset()
) -> Alternative | None:
    """The first alternative that holds for an event that matched, with these variables bound; None if none does.

    Where operators are called, several alternatives may hold by what is known here: then it is what all of them have in
    common. `values` gives those of an attribute, and is asked for what decides, each distinct condition once.
    """
    possible: list[Alternative] = []
    verdicts: dict[int, bool] = {}
    for alternative in alternatives:
        if alternative.binds == bound and all(_held(one, values, verdicts) for one in alternative.plain):
            if not alternative.called:
                return alternative
            possible.append(alternative)
    return _common(possible) if possible else None


def _held(condition: Condition, values: Callable[[str], Sequence[Any]], verdicts: dict[int, bool]) -> bool:
    held = verdicts.get(condition.number)
    if held is None:
        held = verdicts[condition.number] = condition.holds(*map(values, condition.attributes))
    return held


def _common(alternatives: Sequence[Alternative]) -> Alternative:
    """Conditions that all of these alternatives have."""
    first, *others = alternatives
    plain = [one for one in first.plain if all(one in other.plain for other in others)]
    called = [one for one in first.called if all(one in other.called for other in others)]
    return Alternative(tuple(plain), tuple(called))


def _called(leaf: Called) -> CalledCondition:
    written = (part.written for part in parts_of(leaf) if isinstance(part, Variable))
    return CalledCondition(print_as_written(leaf), tuple(dict.fromkeys(filter(None, written))))


def print_as_written(leaf: Called) -> str:
    """Text of a call or constraint with the variable names of the filter's text."""

    def named(part: Any) -> Any:
        return Variable(part.written or part.name) if isinstance(part, Variable) else part

    return print_called(with_parts(leaf, named))


def _bound_by(called: Iterable[Called]) -> frozenset[str]:
    calls = (leaf for leaf in called if isinstance(leaf, Call) and not leaf.negated)
    return frozenset(name for call in calls for name in _called(call).names)
