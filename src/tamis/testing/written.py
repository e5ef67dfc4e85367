"""A filter's text beside its meaning, worked out without the parser: what holds the parser and the oracle in check."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa

from tamis.errors import FilterError
from tamis.language import parse
from tamis.language.tree import Tree
from tamis.matching.event_values import event_values
from tamis.matching.naive import holds
from tamis.schema import Schema

Values: TypeAlias = Mapping[str, Sequence[Any]]  # attribute → its values in one event; absent: missing or empty
Meaning: TypeAlias = Callable[[Values, bool], bool]  # of an event's values, and whether the filter is negated


@dataclass(frozen=True)
class Written:
    """`meaning(values, negated)` says whether the text, or its negation, holds for an event with these values."""

    text: str
    meaning: Meaning

    def __repr__(self) -> str:
        return f"Written({self.text!r})"


@dataclass(frozen=True)
class Constant:
    """A literal: how it is written, and its exact value (timestamps in microseconds)."""

    text: str
    value: Any


def some(attribute: str, test: Callable[[Any], bool]) -> Meaning:
    """Some value passes the test; negated: there is a value, and none passes."""

    def meaning(values: Values, negated: bool) -> bool:
        here = values.get(attribute, ())
        found = any(test(value) for value in here)
        return bool(here) and not found if negated else found

    return meaning


def some_pair(left: str, right: str, test: Callable[[Any, Any], bool]) -> Meaning:
    """Some pair of values passes the test; negated: there is a pair, and none passes."""

    def meaning(values: Values, negated: bool) -> bool:
        pairs = [(a, b) for a in values.get(left, ()) for b in values.get(right, ())]
        found = any(test(a, b) for a, b in pairs)
        return bool(pairs) and not found if negated else found

    return meaning


def absent(attribute: str) -> Meaning:
    """There is no value; negated: there is one."""
    return lambda values, negated: bool(values.get(attribute)) == negated


def constant(value: bool) -> Meaning:
    """Always or never, whatever the event."""
    return lambda _, negated: value != negated


def negation(meaning: Meaning) -> Meaning:
    """The opposite, down to the comparisons."""
    return lambda values, negated: meaning(values, not negated)


def conjunction(meanings: Sequence[Meaning]) -> Meaning:
    """All hold; negated: the negation of one holds."""
    return lambda values, negated: (any if negated else all)(meaning(values, negated) for meaning in meanings)


def disjunction(meanings: Sequence[Meaning]) -> Meaning:
    """One holds; negated: the negations of all hold."""
    return lambda values, negated: (all if negated else any)(meaning(values, negated) for meaning in meanings)


def like(parts: Sequence[str], value: str) -> bool:
    """True if the parts of a LIKE pattern (`%`, `_`, or a character, wildcards among them after a backslash) fit."""
    ends = {0}  # how much of the value the parts so far may have taken
    for part in parts:
        if part == "%":
            ends = set(range(min(ends), len(value) + 1)) if ends else ends
        else:
            ends = {end + 1 for end in ends if end < len(value) and (part == "_" or value[end] == part[-1])}
    return len(value) in ends


def found_in(pattern: str, value: str) -> bool:
    """True if a regular expression of the subset on which RE2 and Python agree is found in the value."""
    return _python_expression(pattern).search(value) is not None


@lru_cache(maxsize=1000)
def _python_expression(pattern: str) -> re.Pattern[str]:
    # To RE2 a dollar is the end of the text; to Python it is also before a last line feed.
    return re.compile(pattern.replace("$", r"\Z"), re.ASCII)


# What the oracle answers, for anyone who wants to hold something to it.


def reference_matches(
    subscriptions: Mapping[str, str], schema: Schema, events: Sequence[Mapping[str, Any]] | pa.RecordBatch | pa.Table
) -> list[list[str]]:
    """For each event the sorted ids of the subscriptions it satisfies, each once.

    A subscription that does not parse matches nothing. Equal texts are evaluated once, so a thousand copies cost no
    more than one.
    """
    by_text: dict[str, list[str]] = {}
    for key, text in subscriptions.items():
        by_text.setdefault(text, []).append(key)
    trees: dict[str, Tree] = {}
    for text in by_text:
        try:
            trees[text] = parse(text, schema)
        except FilterError:
            continue
    return [
        sorted(key for text, tree in trees.items() if holds(tree, values, schema) for key in by_text[text])
        for values in event_values(schema.to_arrow(events), schema)
    ]
