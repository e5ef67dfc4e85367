"""Naive matcher of filters with calls, their oracle: every tree on every event, all combinations of bindings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.language import Limits, parse
from tamis.language.calls import Arithmetic, Call, Constraint, Expression, Field, Moment, Variable, fields_of
from tamis.language.tree import And, Constant, Negation, Or, Tree
from tamis.matching.base.matcher import Answer as Matched
from tamis.matching.base.matcher import Binding, Part
from tamis.matching.codes.holders import Holders
from tamis.matching.conditions import Values, event_values
from tamis.matching.explanation import Explanation
from tamis.matching.naive import holds
from tamis.matching.patterns import PatternSet
from tamis.matching.taking_in import BoundSubscriptions, bound_subscriptions
from tamis.operators.asking import (
    Answer,
    columns_of,
    failure_of,
    is_async,
    patience,
    read_batch,
    read_scalar,
    result_of,
)
from tamis.operators.health import LATE, SUPERVISOR, Calls, Course, GivenUp, Health, OperatorTable
from tamis.operators.learning import Lessons, Seen
from tamis.operators.matcher import OperatorMatcher
from tamis.operators.part import CallingPart
from tamis.operators.predicates import Predicate, Predicates
from tamis.operators.registry import Operator, Resolved
from tamis.operators.schedules.problem import FALSE, TRUE, UNKNOWN
from tamis.operators.values import Bindable, Inputs, key_of, outside
from tamis.schema import Schema

Leaves = list[tuple[Any, bool]]
"""Leaves that must all hold, each with whether it is negated."""
Ask = Callable[[Call], tuple[Answer, Predicate]]


def alternatives(tree: Tree, negated: bool = False) -> Iterator[Leaves]:
    """Alternatives of a tree: every way to choose, at each OR, the item that is to hold."""
    match tree:
        case Constant(value):
            if value != negated:
                yield []
        case Negation(item):
            yield from alternatives(item, not negated)
        case And(items) | Or(items):
            choices = [list(alternatives(item, negated)) for item in items]
            if isinstance(tree, And) != negated:
                for chosen in product(*choices):
                    yield [leaf for some in chosen for leaf in some]
            else:
                yield from (leaves for some in choices for leaves in some)
        case _:
            yield [(tree, negated)]


def substitutions(leaves: Leaves, values: Values, schema: Schema, ask: Ask) -> list[dict[str, Bindable]]:
    """Substitutions of written variables under which the leaves hold; none: they do not hold."""
    calls = [(leaf, negated) for leaf, negated in leaves if isinstance(leaf, Call)]
    constraints = [(leaf, negated) for leaf, negated in leaves if isinstance(leaf, Constraint)]
    plain = [(leaf, negated) for leaf, negated in leaves if not isinstance(leaf, Call | Constraint)]
    if not all(holds(leaf, values, schema, negated) for leaf, negated in plain):
        return []
    answers = [ask(leaf) for leaf, _ in calls]
    for (_, negated), (answer, _) in zip(calls, answers, strict=True):
        if answer.truth != (FALSE if negated else TRUE):
            return []
    binding = [
        (leaf, answer.bindings)
        for (leaf, negated), (answer, predicate) in zip(calls, answers, strict=True)
        if not negated and predicate.variables
    ]
    found: dict[tuple[Any, ...], dict[str, Bindable]] = {}
    for chosen in product(*(bindings for _, bindings in binding)):
        bound = _agreeing([(leaf, one) for (leaf, _), one in zip(binding, chosen, strict=True)])
        if bound is not None and all(constraint_holds(leaf, no, bound, values, schema) for leaf, no in constraints):
            written = {name: bound[name] for name in sorted(bound) if not name.startswith(" ")}
            found[tuple((name, key_of(value)) for name, value in written.items())] = written
    return [found[key] for key in sorted(found)]


def _agreeing(chosen: Sequence[tuple[Call, Sequence[Bindable]]]) -> dict[str, Bindable] | None:
    bound: dict[str, Bindable] = {}
    for leaf, values in chosen:
        names = dict.fromkeys(part.name for part in leaf.arguments if isinstance(part, Variable))
        for name, value in zip(names, values, strict=True):
            if key_of(bound.setdefault(name, value)) != key_of(value):
                return None
    return bound


def constraint_holds(
    leaf: Constraint, negated: bool, bound: Mapping[str, Bindable], values: Values, schema: Schema
) -> bool:
    """True if a constraint, or its negation, holds for one substitution."""
    names = fields_of(leaf)
    given = [[_typed(value, name, schema) for value in values.get(name, ())] for name in names]
    if not all(given):
        return False
    found = [_compares(leaf, bound, dict(zip(names, chosen, strict=True))) for chosen in product(*given)]
    if any(schema.attributes[name].multiple for name in names):
        return any(found) != negated  # of several values none holds, comparable or not
    return found == [not negated]


def _typed(value: Any, attribute: str, schema: Schema) -> Bindable:
    return Moment(value) if schema.attributes[attribute].domain.kind == "timestamp" else value


def _compares(leaf: Constraint, bound: Mapping[str, Bindable], fields: Mapping[str, Bindable]) -> bool | None:
    """Truth of a constraint; None where its sides have no value, or values of different kinds."""
    left = _value(leaf.left, bound, fields)
    rights = leaf.right if isinstance(leaf.right, tuple) else (leaf.right,)
    keys = [None if (value := _value(right, bound, fields)) is None else key_of(value) for right in rights]
    if left is None or None in keys:
        return None
    kind, ours = key_of(left)
    theirs = [value for other, value in filter(None, keys) if other == kind]
    if not theirs:
        return None
    if leaf.operator in ("IN", "NOT IN"):
        return (ours in theirs) == (leaf.operator == "IN")
    (b,) = theirs
    signs = {"=": ours == b, "!=": ours != b, "<": ours < b, "<=": ours <= b, ">": ours > b, ">=": ours >= b}
    return bool(signs[leaf.operator])


def _value(side: Expression, bound: Mapping[str, Bindable], fields: Mapping[str, Bindable]) -> Bindable | None:
    match side:
        case Variable(name):
            return bound[name]
        case Field(attribute):
            return fields[attribute]
        case Arithmetic(operator, left, right):
            a, b = _value(left, bound, fields), _value(right, bound, fields)
            if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in (a, b)):
                return None
            return _computed(operator, a, b)
    return side  # type: ignore[return-value]  # a value: trees have no slots


def _computed(operator: str, a: Any, b: Any) -> int | float | None:
    try:
        if operator == "/":
            whole = isinstance(a, int) and isinstance(b, int) and a % b == 0
            found = a // b if whole else a / b
        else:
            found = {"+": a + b, "-": a - b, "*": a * b}[operator]
    except (ZeroDivisionError, OverflowError):
        return None
    return found if found == found else None


class NaiveOperators(CallingPart):
    """Matcher of subscriptions that call operators, in a dict, id → (text, tree): every call for every event.

    A predicate is asked about once per event here too, so that operators that count their calls can be compared.
    """

    oracle = True
    schedule = "naive"

    def __init__(self, schema: Schema, operators: Mapping[str, Resolved], limits: Limits) -> None:
        super().__init__(operators)
        self._schema = schema
        self._limits = limits
        self._filters: dict[str, tuple[str, Tree]] = {}

    def __len__(self) -> int:
        return len(self._filters)

    def __contains__(self, id: object) -> bool:
        return id in self._filters

    def ids(self) -> list[str]:
        return list(self._filters)

    def text(self, id: str) -> str:
        return self._filters[id][0]

    def add(self, subscriptions: BoundSubscriptions) -> None:
        filters = subscriptions.filters
        rows = sorted(row for block in filters.bound.called for row in block.rows.tolist())
        more = {}
        for row in rows:
            text = filters.texts[row].as_py()
            more[filters.ids[row].as_py()] = (text, parse(text, self._schema, self._limits, self.signatures))
        self._filters = {**self._filters, **more}

    def remove(self, ids: Iterable[str]) -> None:
        gone = set(ids)
        self._filters = {id: kept for id, kept in self._filters.items() if id not in gone}

    def match(self, batch: pa.RecordBatch) -> tuple[Matched, Callable[[], list[Binding]]]:
        filters = list(self._filters.items())
        inputs, predicates = Inputs(batch, self._schema), Predicates(self.resolved)
        numbers: list[list[int]] = []
        bindings: list[Binding] = []
        for row, values in enumerate(event_values(batch, self._schema)):
            ask = Asking(predicates, inputs, row, values)
            numbers.append([])
            for number, (id, (_, tree)) in enumerate(filters):
                for leaves in alternatives(tree):
                    found = substitutions(leaves, values, self._schema, ask)
                    if found:
                        numbers[-1].append(number)
                        if found[0]:
                            variables = {name: outside(value) for name, value in found[0].items()}
                            bindings.append(Binding(row, id, variables, len(found)))
                        break
        offsets = np.cumsum([0, *map(len, numbers)], dtype=np.int64)
        part = Part(0, offsets, np.array([number for some in numbers for number in some], np.int32))
        return Matched(pa.array([id for id, _ in filters], pa.string()), [part]), lambda: bindings

    def holders_of(self, patterns: PatternSet) -> Holders | None:
        """None: there are no sets of patterns here."""
        return None

    def explain(self, event: Mapping[str, object], id: str) -> Explanation:
        """Explanation by the operator matcher, with this subscription alone."""
        alone = OperatorMatcher(self._schema, self.resolved, "naive", self._limits)
        alone.add(bound_subscriptions({id: self.text(id)}, self._schema, self._limits, self.signatures))
        return alone.explain(event, id)

    def statistics(self) -> OperatorTable:
        """Statistics without counts: nothing is counted here."""
        return OperatorMatcher(self._schema, self.resolved, "naive", self._limits).statistics()

    def saved(self) -> dict[str, Any]:
        return {"texts": {id: text for id, (text, _) in self._filters.items()}, "learned": {}}

    def lessons(self) -> Lessons:
        """No observations: nothing is learned here."""
        return Lessons()

    def known(self) -> dict[str, Seen]:
        return {}

    def take(self, lessons: Lessons) -> None: ...

    def start_from(self, seen: Mapping[str, Seen]) -> None: ...

    def adopt(self, health: Health) -> None: ...

    def learn_again(self, learned: Mapping[str, Any]) -> None: ...


def _returned(operator: Operator, by_position: Sequence[Any], by_name: Mapping[str, Any]) -> Any:
    """Result of a call in this thread; of a coroutine in another, for this one may run a loop already."""
    if not is_async(operator):
        return result_of(operator, by_position, by_name)

    def awaited() -> Course[Any]:
        (outcome,) = yield Calls([partial(_attempt, operator, by_position, by_name)], patience(operator))
        return outcome

    outcome = SUPERVISOR.drive(awaited(), patience(operator))
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _attempt(operator: Operator, by_position: Sequence[Any], by_name: Mapping[str, Any]) -> Any:
    try:
        return result_of(operator, by_position, by_name)
    except GivenUp:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
        return error


class Asking:
    """Answers of operators on one event, each predicate asked about once."""

    def __init__(self, predicates: Predicates, inputs: Inputs, row: int, values: Values) -> None:
        self._predicates = predicates
        self._inputs = inputs
        self._row = np.array([row], np.int64)
        self._values = values
        self._known: dict[int, Answer] = {}

    def __call__(self, call: Call) -> tuple[Answer, Predicate]:
        predicate = self._predicates[self._predicates.number(call)]
        if predicate.number not in self._known:
            self._known[predicate.number] = self._asked(predicate)
        return self._known[predicate.number], predicate

    def _asked(self, predicate: Predicate) -> Answer:
        resolved = predicate.resolved
        if not all(self._values.get(name) for name in resolved.attributes):
            return Answer(UNKNOWN)
        operator = resolved.operator
        try:
            if operator.batch:
                given = columns_of([predicate]) if operator.together else predicate.given
                returned = _returned(operator, *resolved.passed(self._inputs.arrays(resolved, self._row), given))
                return Answer(UNKNOWN) if returned is LATE else read_batch(returned, predicate, 1)[0]
            (values,) = self._inputs.values(resolved, self._row)
            returned = _returned(operator, *resolved.passed(values, predicate.given))
            return Answer(UNKNOWN) if returned is LATE else read_scalar(returned, predicate)
        except BaseException as error:  # noqa: BLE001 - whatever an operator raises, it is unknown
            return Answer(UNKNOWN, failure=failure_of(error))
