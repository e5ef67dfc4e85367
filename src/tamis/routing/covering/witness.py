"""An event that satisfies a conjunct."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from tamis.language.extents import Extent
from tamis.language.patterns import Wildcard, read_like
from tamis.language.predicates import Like, Literal, Not, Value, Versus
from tamis.routing.covering.exact_values import satisfies, some_values
from tamis.routing.covering.summary import Said, Summary
from tamis.routing.covering.unknowns import Comparison, UndecidedError, Unknown, solve
from tamis.schema import EVENT_TYPE, Schema

Event: TypeAlias = Mapping[str, list[Value]]
"""The values of each attribute that is present, in the language's types."""

_TRIED = 7


def witness(conjunct: Iterable[Literal], schema: Schema) -> Event | None:
    """An event that satisfies all literals; None if there is none. `UndecidedError` if that was not found out."""
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
    """Strings that a LIKE pattern takes, with little or something in place of its wildcards."""
    if not isinstance(pattern, Like):
        return []
    parts = read_like(str(pattern.pattern)) or []
    return [
        "".join(part if isinstance(part, str) else "x" if part is Wildcard.ONE else run for part in parts)
        for run in ("", "x", " x ")
    ]


def _compared_together(summary: Summary) -> list[set[str]]:
    """The attributes that are compared with each other, directly or over others."""
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
