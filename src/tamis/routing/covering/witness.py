"""Witness of a conjunct: an event that satisfies it, found by a bounded constraint search.

`UndecidedError` is the third answer, beside an event and None: too many values to try, or a pattern in the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from tamis.language.extents import END, START, Extent, Range, includes
from tamis.language.patterns import Wildcard, read_like
from tamis.language.predicates import Like, Literal, Not, Value, Versus
from tamis.routing.covering.exact_values import ascending, satisfies, some_values
from tamis.routing.covering.summary import Said, Summary
from tamis.schema import EVENT_TYPE, Attribute, EnumeratedDomain, HierarchicalDomain, Schema

# Constraint solver for unknowns that are compared with each other: exhaustive over few candidate values.
#
# All sets that the unknowns are drawn from cut the line into cells within which no set begins or ends. Of a solution
# only the cells and the order within each cell matter, so as many values of a cell as there are unknowns are enough
# to try.

MOST_TRIED = 20_000
_MOST_VALUES = 2_000


class UndecidedError(Exception):
    """Existence of values left undecided: the search was too long, or a pattern stood in the way."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Variable of the search: a value within a set that satisfies the patterns."""

    attribute: Attribute
    values: Extent
    patterns: tuple[Literal, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Constraint `left operator right` between two unknowns, by number; it must hold, or must not."""

    left: int
    operator: str
    right: int
    holds: bool


def solve(unknowns: Sequence[Unknown], comparisons: Sequence[Comparison]) -> list[Value] | None:
    """Values for the unknowns that satisfy all comparisons; None if there are none. `UndecidedError` if undecided."""
    tries = [_tries(unknown, unknowns) for unknown in unknowns]
    complete = True
    for number, unknown in enumerate(unknowns):
        if unknown.patterns:
            tries[number] = [v for v in tries[number] if all(satisfies(p, v) for p in unknown.patterns)]
            complete = False
    order = sorted(range(len(unknowns)), key=lambda number: len(tries[number]))
    found = _Search(unknowns, comparisons, tries, order).run()
    if found is None and not complete:
        raise UndecidedError
    return found


class _Search:
    """Backtracking in the given order of unknowns, each comparison checked once both its sides have values."""

    def __init__(
        self,
        unknowns: Sequence[Unknown],
        comparisons: Sequence[Comparison],
        tries: Sequence[Sequence[Value]],
        order: Sequence[int],
    ) -> None:
        self._unknowns, self._tries, self._order = unknowns, tries, order
        place = {number: k for k, number in enumerate(order)}
        self._due: list[list[Comparison]] = [[] for _ in order]
        for comparison in comparisons:
            self._due[max(place[comparison.left], place[comparison.right])].append(comparison)
        self._found: dict[int, Value] = {}
        self._tried = 0

    def run(self) -> list[Value] | None:
        if not self._go_on(0):
            return None
        return [self._found[number] for number in range(len(self._unknowns))]

    def _go_on(self, depth: int) -> bool:
        if depth == len(self._order):
            return True
        number = self._order[depth]
        for value in self._tries[number]:
            self._tried += 1
            if self._tried > MOST_TRIED:
                raise UndecidedError
            self._found[number] = value
            if all(self._as_wanted(comparison) for comparison in self._due[depth]) and self._go_on(depth + 1):
                return True
        return False

    def _as_wanted(self, comparison: Comparison) -> bool:
        left, right = self._found[comparison.left], self._found[comparison.right]
        domain = self._unknowns[comparison.left].attribute.domain
        if comparison.operator == "=":
            return (left == right) == comparison.holds
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            below = domain.position(str(left)) in domain.satisfying(comparison.operator, str(right))
            return below == comparison.holds
        below = left < right if comparison.operator == "<" else left <= right  # type: ignore[operator]
        return below == comparison.holds


def _tries(unknown: Unknown, together: Sequence[Unknown]) -> list[Value]:
    """Candidate values of an unknown: enough of them to decide whether there is a solution."""
    domain = unknown.attribute.domain
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        found = [v for part in unknown.values for v in some_values(part, unknown.attribute, _MOST_VALUES + 1)]
        if len(found) > _MOST_VALUES or (not found and unknown.values):
            raise UndecidedError
        return found
    mixed = len({other.attribute.domain.kind for other in together}) > 1
    values: list[Value] = []
    for cell in _cells(together):
        if not includes(unknown.values, (cell,)):
            continue
        if mixed:
            values += _of_kind(ascending(cell, len(together)), domain.kind)
        else:
            values += some_values(cell, unknown.attribute, len(together))
        if len(values) > _MOST_VALUES:
            raise UndecidedError
    return values


def _cells(unknowns: Sequence[Unknown]) -> list[Range]:
    cuts = {cut for unknown in unknowns for part in unknown.values for cut in part}
    ordered = sorted(cuts | {START, END})
    return list(pairwise(ordered))


def _of_kind(numbers: set[int | float], kind: str) -> list[Value]:
    """Integers, or doubles, among values."""
    if kind == "integer":
        return [int(n) for n in sorted(numbers) if n == n and abs(n) < 2**64 and n == int(n)]
    return [float(n) for n in sorted(numbers) if float(n) == n]


Event: TypeAlias = Mapping[str, list[Value]]
"""The values of each attribute that is present, in the language's types."""

_TRIED = 7


def witness(conjunct: Iterable[Literal], schema: Schema) -> Event | None:
    """Event that satisfies all literals; None if there is none. `UndecidedError` if that was not found out."""
    summary = Summary(conjunct, schema)
    if summary.impossible:
        return None
    event: dict[str, list[Value]] = {}
    if schema.default_event_type is not None:
        event[EVENT_TYPE] = [schema.default_event_type]
    undecided = False
    for name, said in summary.said.items():
        if said.absent or said.compared or not said.present:
            continue
        found = _values(said)
        if found is None:
            undecided = True
        else:
            event[name] = found
    for together in _compared_together(summary):
        try:
            solved = _solved(summary, together)
        except UndecidedError:
            undecided = True
            continue
        if solved is None:
            return None
        event |= solved
    if undecided:
        raise UndecidedError
    return event


def _values(said: Said) -> list[Value] | None:
    """Values for an attribute that is compared with no other; None if none were found, which proves nothing."""
    wanted = [p for p in said.patterns if not isinstance(p, Not)] if said.attribute.multiple else []
    excluded = tuple(p for p in said.patterns if isinstance(p, Not)) if said.attribute.multiple else ()
    if not said.attribute.multiple:
        value = _value(Unknown(said.attribute, said.values, tuple(said.patterns)))
        return None if value is None else [value]
    unknowns = [Unknown(said.attribute, part, excluded) for part in said.some]
    unknowns += [Unknown(said.attribute, said.values, (*excluded, pattern)) for pattern in wanted]
    found = [_value(unknown) for unknown in unknowns or [Unknown(said.attribute, said.values, excluded)]]
    values = [value for value in found if value is not None]
    return list(dict.fromkeys(values)) if len(values) == len(found) else None


def _value(unknown: Unknown) -> Value | None:
    tries = [v for part in unknown.values for v in some_values(part, unknown.attribute, _TRIED)]
    if unknown.patterns:
        tries += [text for pattern in unknown.patterns for text in _examples(pattern)]
        tries = [v for v in tries if _within(unknown, v) and all(satisfies(p, v) for p in unknown.patterns)]
    return tries[0] if tries else None


def _within(unknown: Unknown, value: Value) -> bool:
    """True if a string is in the unknown's set."""
    return any(start <= (1, value, 0) and (1, value, 1) <= end for start, end in _unsettled(unknown))


def _unsettled(unknown: Unknown) -> list[tuple[tuple[object, ...], tuple[object, ...]]]:
    # The cut after 'a' is also the one before 'a' and a NUL.
    return [((1, s[1] + "\0", 0) if len(s) == 3 and s[2] else s, e) for s, e in unknown.values]


def _examples(pattern: Literal) -> list[str]:
    """Example strings of a LIKE pattern, with little or something in place of its wildcards."""
    if not isinstance(pattern, Like):
        return []
    parts = read_like(str(pattern.pattern)) or []
    return [
        "".join(part if isinstance(part, str) else "x" if part is Wildcard.ONE else run for part in parts)
        for run in ("", "x", " x ")
    ]


def _compared_together(summary: Summary) -> list[set[str]]:
    """Groups of attributes that are compared with each other, directly or over others."""
    groups: list[set[str]] = []
    for literal in summary.versus:
        leaf = _versus(literal)
        joined = {leaf.left, leaf.right}
        apart = []
        for group in groups:
            if group & joined:
                joined |= group
            else:
                apart.append(group)
        groups = [*apart, joined]
    return groups


def _solved(summary: Summary, names: set[str]) -> dict[str, list[Value]] | None:
    """Values for attributes that are compared with each other.

    An attribute with several values has one of its own for each condition that wants one.
    """
    unknowns: list[Unknown] = []
    of: dict[str, list[int]] = {name: [] for name in names}

    def new(name: str, values: Extent, *wanted: Literal) -> int:
        said = summary.said[name]
        every = [p for p in said.patterns if isinstance(p, Not) or not said.attribute.multiple]
        unknowns.append(Unknown(said.attribute, values, (*every, *wanted)))
        of[name].append(len(unknowns) - 1)
        return len(unknowns) - 1

    for name in sorted(names):
        said = summary.said[name]
        if not said.attribute.multiple:
            new(name, said.values)
            continue
        for part in said.some:
            new(name, part)
        for pattern in said.patterns:
            if not isinstance(pattern, Not):
                new(name, said.values, pattern)
    ours = [literal for literal in summary.versus if _versus(literal).left in names]
    comparisons: list[Comparison] = []
    for literal in ours:
        if isinstance(literal, Not):
            continue
        leaf = _versus(literal)
        left, right = (
            new(name, summary.said[name].values) if summary.said[name].attribute.multiple else of[name][0]
            for name in (leaf.left, leaf.right)
        )
        comparisons.append(Comparison(left, leaf.operator, right, True))
    for name in sorted(names):
        if not of[name]:
            new(name, summary.said[name].values)
    for literal in ours:
        if isinstance(literal, Not):
            leaf = _versus(literal)
            pairs = [(left, right) for left in of[leaf.left] for right in of[leaf.right]]
            comparisons += [Comparison(left, leaf.operator, right, False) for left, right in pairs]
    found = solve(unknowns, comparisons)
    if found is None:
        return None
    return {name: list(dict.fromkeys(found[number] for number in numbers)) for name, numbers in of.items()}


def _versus(literal: Literal) -> Versus:
    leaf = literal.leaf if isinstance(literal, Not) else literal
    assert isinstance(leaf, Versus)
    return leaf
