"""Facts back to words: the condition that a fact stands for, as it would be written in a filter."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tamis.language.extents import (
    END,
    Cut,
    Extent,
    alternatives_of,
    everything,
    is_stepped,
    literals_of,
    negatives_of,
    united,
    without,
)
from tamis.language.predicates import Like, Literal, Not, Present, Versus
from tamis.language.printing import print_literal
from tamis.matching.codes.columns import Encoder
from tamis.routing.covering.exact_values import prefixed
from tamis.routing.covering.facts.facts import Facts
from tamis.routing.covering.facts.kernels import ABSENT, EVERY, NO_PATTERN, NO_VERSUS, PATTERN, SOME
from tamis.schema import Attribute, Schema

_AFTER_PREFIX = b"\xff"


class Wording:
    """Writes the facts of one level."""

    def __init__(self, facts: Facts, encoder: Encoder, schema: Schema) -> None:
        self._facts, self._encoder, self._schema = facts, encoder, schema

    def of(self, attribute: int, kind: int, number: int) -> str:
        """The condition that a fact is, as text."""
        about = self._schema.attributes[self._facts.names[attribute]]
        literals = self._literals(about, attribute, kind, number)
        joint = " OR " if kind == SOME else " AND "
        return joint.join(print_literal(literal, self._schema) for literal in literals)

    def _literals(self, about: Attribute, attribute: int, kind: int, number: int) -> list[Literal]:
        if kind == ABSENT:
            return [Not(Present(about.name))]
        if kind in (PATTERN, NO_PATTERN):
            pattern = self._encoder.patterns[about.name].pattern(number)
            return [pattern if kind == PATTERN else Not(pattern)]
        if kind > NO_PATTERN:
            column = self._encoder.columns[number]
            versus = Versus(column.attribute, column.operator, column.other)
            return [Not(versus) if kind == NO_VERSUS else versus]
        prefix = self._prefix(attribute, number)
        if prefix is not None:
            return [Like(about.name, prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%")]
        extent = self._extent(about, attribute, number)
        if kind == SOME:
            return list(alternatives_of(extent, about))
        if kind == EVERY and about.multiple:
            excluded = without(everything(about), extent)
            return negatives_of(excluded, about) if excluded else [Present(about.name)]
        return literals_of(extent, about)

    def _codes(self, attribute: int, number: int) -> list[tuple[int, int]]:
        """The ranges of a set, in codes."""
        facts = self._facts
        first = facts.places.firsts[attribute]
        return [
            (int(facts.places.codes[first + facts.lows[i]]), int(facts.places.codes[first + facts.highs[i]]))
            for i in range(facts.set_offsets[number], facts.set_offsets[number + 1])
        ]

    def _prefix(self, attribute: int, number: int) -> str | None:
        """The prefix whose strings a set is, if a filter asks for that prefix."""
        ranges = self._codes(attribute, number)
        dictionary = self._encoder.dictionaries.get(self._facts.names[attribute])
        if len(ranges) != 1 or dictionary is None or not isinstance(dictionary.constants, pa.Array):
            return None
        (low, high), constants = ranges[0], dictionary.constants
        if low % 2 == 0 or high // 2 >= len(constants):
            return None
        prefix, end = constants[low // 2].as_py(), constants[high // 2].as_py()
        return prefix.decode() if high % 2 == 0 and end == prefix + _AFTER_PREFIX else None

    def _extent(self, about: Attribute, attribute: int, number: int) -> Extent:
        dictionary = self._encoder.dictionaries.get(about.name)
        constants: Any = [] if dictionary is None else dictionary.constants
        ((first, last),) = everything(about)
        ranges = []
        for low, high in self._codes(attribute, number):
            # A gap begins after the constant below it, and ends before the one above.
            start = first if low == 0 else _cut(constants, low // 2 - (low % 2 == 0), low % 2 == 0, about)
            end = last if high // 2 >= len(constants) else _cut(constants, high // 2, high % 2 == 1, about)
            ranges.append((start, end))
        return united(ranges)


def _cut(constants: Any, rank: int, after: bool, about: Attribute) -> Cut:
    """The cut before or after a constant."""
    kind = about.domain.kind
    if kind in ("enumerated", "hierarchical", "boolean"):
        return (1, rank + after, 0)
    value = constants[rank].as_py() if isinstance(constants, pa.Array) else constants[rank].item()
    if is_stepped(about):
        return (1, value + after, 0)
    if isinstance(value, bytes):
        if value.endswith(_AFTER_PREFIX):
            ((_, end),) = prefixed(value[:-1].decode())
            return end if len(end) == 3 else END
        value = value.decode()
    return (1, value, int(after))
