"""Join of the values that calls bind to variables: substitutions that satisfy a case's calls and constraints together;
tests of single constraints.

Variables that neither a shared call nor a constraint connects do not meet: their predicates are joined apart, and the
substitutions of the whole are all combinations. Within such a part, predicates are taken one after the other, each
by what is bound already, and a constraint is checked as soon as its variables are bound.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.language.calls import (
    Arithmetic,
    Call,
    Constraint,
    Expression,
    Field,
    Moment,
    Variable,
    fields_of,
    variables_of,
)
from tamis.operators.asking import Binding
from tamis.operators.predicates import variables_in_order
from tamis.operators.values import Bindable, Key, key_of

# Constraints on bound variables, compiled to functions of the bound values.

Bound: TypeAlias = Mapping[str, Bindable]
"""Values of the variables, by name."""
Fields: TypeAlias = Callable[[str], Sequence[Bindable]]
"""The values of an attribute in the event."""
Test: TypeAlias = Callable[[Bound, Fields], bool]

_Side: TypeAlias = Callable[[Bound, Mapping[str, Bindable]], Bindable | None]
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@lru_cache(maxsize=100_000)
def test_of(constraint: Constraint) -> Test:
    """Test of a constraint: a function of the values that its variables are bound to, in an event with these fields."""
    holds = _comparison(constraint)
    names = fields_of(constraint)
    if not names:
        return lambda bound, _: holds(bound, {}) != constraint.negated

    def test(bound: Bound, fields: Fields) -> bool:
        values = [fields(name) for name in names]
        if not all(values):
            return False
        found = any(holds(bound, dict(zip(names, some, strict=True))) for some in product(*values))
        return found != constraint.negated

    return test


def _comparison(constraint: Constraint) -> Callable[[Bound, Mapping[str, Bindable]], bool]:
    left = _side(constraint.left)
    if isinstance(constraint.right, tuple):
        listed = {key_of(value) for value in constraint.right}  # type: ignore[arg-type]  # slots are filled
        kinds = {kind for kind, _ in listed}
        wanted = constraint.operator == "IN"

        def among(bound: Bound, fields: Mapping[str, Bindable]) -> bool:
            value = left(bound, fields)
            if value is None:
                return False
            key = key_of(value)
            return key in listed if wanted else key not in listed and key[0] in kinds

        return among
    right = _side(constraint.right)
    compare = _COMPARE[constraint.operator]

    def compares(bound: Bound, fields: Mapping[str, Bindable]) -> bool:
        ours, theirs = left(bound, fields), right(bound, fields)
        if ours is None or theirs is None:
            return False
        (kind, a), (other, b) = key_of(ours), key_of(theirs)
        return kind == other and bool(compare(a, b))

    return compares


def _side(expression: Expression) -> _Side:
    """Value of the expression; None where it has none."""
    match expression:
        case Variable(name):
            return lambda bound, _: bound[name]
        case Field(attribute):
            return lambda _, fields: fields[attribute]
        case Arithmetic(sign, left, right):
            ours, theirs = _side(left), _side(right)
            return lambda bound, fields: _computed(sign, ours(bound, fields), theirs(bound, fields))
    return lambda *_: expression  # type: ignore[return-value]  # slots are filled


def _computed(sign: str, a: Bindable | None, b: Bindable | None) -> int | float | None:
    """Result of arithmetic, as of constants: exact on integers, / too where it comes out even; else in doubles."""
    if a is None or b is None or isinstance(a, bool | str | Moment) or isinstance(b, bool | str | Moment):
        return None
    try:
        match sign:
            case "+":
                found = a + b
            case "-":
                found = a - b
            case "*":
                found = a * b
            case _ if isinstance(a, int) and isinstance(b, int) and a % b == 0:
                found = a // b
            case _:
                found = a / b
    except (ZeroDivisionError, OverflowError):
        return None
    return None if isinstance(found, float) and math.isnan(found) else found


MOST_COUNTED = 10_000
"""Substitutions of one part that are counted before the count says *so many or more*."""
MOST_STEPS = 200_000
"""Bindings that a join may look at; one that has found nothing by then is given up, and its case does not hold."""

Found: TypeAlias = Mapping[str, Bindable]


class TooLargeError(Exception):
    """A join that found nothing among the `MOST_STEPS` bindings that it may look at."""


@dataclass(frozen=True, slots=True)
class Substitutions:
    """Substitutions under which a case holds: the first one, and how many there are, at least."""

    first: Found
    count: int


@dataclass(frozen=True, slots=True)
class _Relation:
    """Call of a part, as a relation: which call it is, its variables, and those that earlier relations bind."""

    call: int
    names: tuple[str, ...]
    bound: tuple[int, ...]
    tests: tuple[Test, ...]
    """Constraints whose last variable it binds."""


@dataclass(frozen=True, slots=True)
class Join:
    """Join plan of a case's calls with variables and its constraints: `parts` share no variable and no constraint."""

    parts: tuple[tuple[_Relation, ...], ...]
    written: Mapping[str, str]

    @property
    def joins(self) -> bool:
        """True if anything decides but the calls by themselves, each with its local constraints."""
        return any(len(part) > 1 for part in self.parts)

    def substitutions(self, bindings: Sequence[Sequence[Binding]], fields: Fields) -> Substitutions | None:
        """Substitutions that satisfy the case, given the bindings of each of its calls; None if there are none.

        `TooLargeError` if that takes too long to find out. Of more than can be looked at, those that were count.
        """
        first: dict[str, Bindable] = {}
        counts: list[int] = []
        for part in self.parts:
            names = sorted({name for relation in part for name in relation.names if self.written.get(name)})
            names.sort(key=lambda name: self.written[name])
            seen: dict[tuple[Key, ...], Found] = {}
            try:
                for found in _solutions(part, bindings, fields):
                    seen.setdefault(tuple(key_of(found[name]) for name in names), found)
                    if len(seen) >= MOST_COUNTED:
                        break
            except TooLargeError:
                if not seen:
                    raise
            if not seen:
                return None
            counts.append(len(seen))
            least = seen[min(seen)]
            first |= {self.written[name]: least[name] for name in names}
        return Substitutions(dict(sorted(first.items())), prod(counts))

    def holds(self, bindings: Sequence[Sequence[Binding]], fields: Fields) -> bool:
        """True if some substitution satisfies the case; `TooLargeError` as above."""
        return all(next(_solutions(part, bindings, fields), None) is not None for part in self.parts)


def _solutions(part: Sequence[_Relation], bindings: Sequence[Sequence[Binding]], fields: Fields) -> Iterator[Found]:
    """Substitutions of a part, in the order of its relations' bindings."""
    tables = [_table(relation, bindings[relation.call]) for relation in part]
    left = MOST_STEPS

    def extend(depth: int, found: dict[str, Bindable]) -> Iterator[Found]:
        nonlocal left
        if depth == len(part):
            yield dict(found)
            return
        relation = part[depth]
        key = tuple(key_of(found[relation.names[place]]) for place in relation.bound)
        fitting = tables[depth].get(key, ())
        for binding in fitting:
            left -= 1
            if left < 0:
                raise TooLargeError
            wider = {**found, **{name: v for name, v in zip(relation.names, binding, strict=True) if name not in found}}
            if all(test(wider, fields) for test in relation.tests):
                yield from extend(depth + 1, wider)

    yield from extend(0, {})


def _table(relation: _Relation, bindings: Sequence[Binding]) -> dict[tuple[object, ...], list[Binding]]:
    """Bindings grouped by the values of variables that earlier relations have bound."""
    table: dict[tuple[object, ...], list[Binding]] = {}
    for binding in bindings:
        table.setdefault(tuple(key_of(binding[place]) for place in relation.bound), []).append(binding)
    return table


def plan(calls: Sequence[Call], constraints: Sequence[Constraint], written: Mapping[str, str]) -> Join:
    """Plan for joining the calls of a case; `written` are the names under which variables are reported, empty: not."""
    binding = [(number, variables_in_order(call)) for number, call in enumerate(calls) if not call.negated]
    left = [(number, names) for number, names in binding if names]
    parts = []
    for group in _connected([set(names) for _, names in left], [set(variables_of(one)) for one in constraints]):
        members = [item for item in left if item[1][0] in group]
        parts.append(tuple(_ordered(members, [one for one in constraints if set(variables_of(one)) <= group])))
    return Join(tuple(parts), written)


def _ordered(calls: list[tuple[int, tuple[str, ...]]], constraints: list[Constraint]) -> Iterator[_Relation]:
    """Calls in join order: each next call shares as many variables as possible with those before."""
    bound: set[str] = set()
    waiting = list(calls)
    pending = list(constraints)
    while waiting:
        chosen = max(waiting, key=lambda item: (len(bound.intersection(item[1])), -len(item[1]), -item[0]))
        waiting.remove(chosen)
        number, names = chosen
        known = tuple(place for place, name in enumerate(names) if name in bound)
        bound.update(names)
        ready = [one for one in pending if set(variables_of(one)) <= bound]
        pending = [one for one in pending if one not in ready]
        yield _Relation(number, names, known, tuple(map(test_of, ready)))


def _connected(calls: Iterable[set[str]], constraints: Iterable[set[str]]) -> list[set[str]]:
    """Connected components: sets of variables such that no call and no constraint spans two."""
    groups: list[set[str]] = []
    for names in (*calls, *constraints):
        touching = [group for group in groups if group & names]
        groups = [group for group in groups if group not in touching]
        groups.append(names.union(*touching))
    return [group for group in groups if group]


# Constraints that one predicate's own bindings decide, for all cases that want it at once.
#
# Comparisons of a predicate's only variable with numbers are kept as intervals and decided by binary search over the
# sorted bindings, however many cases compare it; everything else case by case.

_EXACT = 1 << 53


@dataclass(frozen=True, slots=True)
class Interval:
    """Interval of numbers from `low` to `high`; an open end leaves the number itself out."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    @classmethod
    def of(cls, constraints: Sequence[Constraint]) -> Interval | None:
        """Numbers that satisfy all constraints; None where some is no comparison of a variable with a number."""
        found = cls()
        for one in constraints:
            bound = one.right
            plain = isinstance(one.left, Variable) and isinstance(bound, int | float) and not isinstance(bound, bool)
            if not plain or abs(bound) > _EXACT or one.operator not in ("=", "<", "<=", ">", ">="):  # type: ignore[arg-type]
                return None
            found = found._within(one.operator, float(bound))  # type: ignore[arg-type]
        return found

    def _within(self, operator: str, bound: float) -> Interval:
        low, low_open, high, high_open = self.low, self.low_open, self.high, self.high_open
        if operator in ("=", ">", ">="):
            low, low_open = max((low, low_open), (bound, operator == ">"))
        if operator in ("=", "<", "<="):
            high, closed = min((high, not high_open), (bound, operator != "<"))
            high_open = not closed
        return Interval(low, high, low_open, high_open)


@dataclass(slots=True)
class LocalChecks:
    """Local constraints of all cases that want one predicate, checked against its bindings."""

    _intervals: dict[int, list[Interval]] = field(default_factory=dict)
    _tests: dict[int, list[tuple[tuple[str, ...], tuple[Test, ...]]]] = field(default_factory=dict)
    _table: tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None = None

    def add(self, case: int, names: tuple[str, ...], constraints: Sequence[Constraint]) -> None:
        """Adds a case that calls the predicate with these variables, in order, under these constraints."""
        interval = Interval.of(constraints) if len(names) == 1 else None
        if interval is not None:
            self._intervals.setdefault(case, []).append(interval)
            self._table = None
        else:
            self._tests.setdefault(case, []).append((names, tuple(map(test_of, constraints))))

    def remove(self, case: int) -> None:
        if self._intervals.pop(case, None) is not None:
            self._table = None
        self._tests.pop(case, None)

    def __bool__(self) -> bool:
        return bool(self._intervals or self._tests)

    def failing(self, bindings: Sequence[Binding], fields: Fields) -> npt.NDArray[np.int64]:
        """Cases that none of these bindings satisfies; one may come twice."""
        failing = [
            case
            for case, asked in self._tests.items()
            if not all(_some(bindings, names, tests, fields) for names, tests in asked)
        ]
        found = np.array(failing, np.int64)
        return np.concatenate([found, self._outside(bindings)]) if self._intervals else found

    def _outside(self, bindings: Sequence[Binding]) -> npt.NDArray[np.int64]:
        cases, ends, opened = self._ends()
        numbers = sorted(
            value for value, *_ in bindings if isinstance(value, int | float) and not isinstance(value, bool)
        )
        if any(abs(value) > _EXACT and not math.isinf(value) for value in numbers):
            # Doubles would blur these, and so would NumPy: compared one by one, as Python compares.
            rows = zip(*ends.tolist(), *opened.tolist(), strict=True)
            inside = np.array([any(_holds(value, *row) for value in numbers) for row in rows], np.bool_)
        else:
            values = np.array(numbers, np.float64)
            first = np.where(opened[0], values.searchsorted(ends[0], "right"), values.searchsorted(ends[0], "left"))
            last = np.where(opened[1], values.searchsorted(ends[1], "left"), values.searchsorted(ends[1], "right"))
            inside = first < last
        return cases[~inside]

    def _ends(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        if self._table is None:
            rows = [(case, each) for case, some in self._intervals.items() for each in some]
            cases = np.array([case for case, _ in rows], np.int64)
            ends = np.array([[each.low for _, each in rows], [each.high for _, each in rows]])
            opened = np.array([[each.low_open for _, each in rows], [each.high_open for _, each in rows]])
            self._table = cases, ends, opened
        return self._table


def _some(bindings: Sequence[Binding], names: tuple[str, ...], tests: tuple[Test, ...], fields: Fields) -> bool:
    return any(
        all(test(bound, fields) for test in tests)
        for bound in (dict(zip(names, binding, strict=True)) for binding in bindings)
    )


def _holds(value: float, low: float, high: float, low_open: bool, high_open: bool) -> bool:
    return (value > low if low_open else value >= low) and (value < high if high_open else value <= high)
