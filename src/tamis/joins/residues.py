"""Residual filters of joins: row conditions that no interval expresses, evaluated where the server computes results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from tamis.arrays import Bools, Int32s, Int64s
from tamis.joins.intake import Intake
from tamis.joins.lowering import JoinGroup, Residuals
from tamis.joins.netting import NetChanges
from tamis.joins.roster import NO_FILTER, Roster
from tamis.language import Limits, bind
from tamis.matching.codes.holders import Holders
from tamis.matching.numbered_filters import NumberedFilters
from tamis.matching.patterns import PatternSet
from tamis.schema import Schema

_AT_ONCE: Final = 1 << 24  # rows times filters looked at together
_ANY: Final = 1 << 31


class Residues:
    """Residual filters of all subscriptions: those of each table, each distinct one once, by number.

    A filter is there as long as a subscription has it. One matcher per table decides all of them for many rows at once.
    """

    def __init__(self, schema: Schema, limits: Limits) -> None:
        self._schema = schema
        # A normal form may be longer than the text that was within the limits.
        self._limits = replace(
            limits, text=_ANY, terms=_ANY, depth=max(limits.depth, 40), conjuncts=_ANY, literals=_ANY, steps=_ANY,
            wildcards_in_all=_ANY,
        )  # fmt: skip
        self._tables: dict[str, _TableFilters] = {}

    def enter(self, group: JoinGroup) -> dict[str, Int32s]:
        """Adds subscriptions; returns by table the number of each one's filter, NO_FILTER where it has none."""
        return {table: self._of(table).enter(residuals) for table, residuals in group.residuals.items()}

    def leave(self, filters: Mapping[str, int]) -> None:
        """Removes a subscription, given its filters by table."""
        for table, number in filters.items():
            self._tables[table].leave(number)

    def hold(self, table: str, filters: Int32s, rows: Int64s, intake: Intake) -> Bools:
        """Mask of the rows for which the filter beside them holds."""
        distinct, place = np.unique(rows, return_inverse=True)
        own = self._tables[table]
        found = np.zeros(len(rows), np.bool_)
        at_once = max(1, _AT_ONCE // own.numbers)
        for start in range(0, len(distinct), at_once):
            some = distinct[start : start + at_once]
            passed = np.zeros((len(some), own.numbers), np.bool_)
            passed[own.filters.held(intake.rows(table, some))] = True
            here = (place >= start) & (place < start + len(some))
            found[here] = passed[place[here] - start, filters[here]]
        return found

    def passing(self, changes: NetChanges, roster: Roster, intake: Intake) -> NetChanges:
        """Results whose rows pass the residual filters of their subscription."""
        doubtful = np.flatnonzero(roster.restricted(changes.subscription))
        if not len(doubtful):
            return changes
        kept = np.ones(len(changes.rows), np.bool_)
        tables = roster.place(int(changes.subscription[doubtful[0]]))[0].group.signature.tables
        for place, table in enumerate(tables):
            filters = roster.filters(table, changes.subscription[doubtful])
            some = doubtful[filters != NO_FILTER]
            if len(some):
                passes = self.hold(table, filters[filters != NO_FILTER], changes.rows[some, place], intake)
                kept[some[~passes]] = False
        return changes.take(kept)

    def holders_of(self, patterns: PatternSet, roster: Roster) -> Holders | None:
        """Subscriptions that hold the patterns of a set in a residual filter; None if the set is of none."""
        for table, own in self._tables.items():
            found = own.filters.holders_of(patterns)
            if found is not None:
                places, subscriptions = roster.having(table, found[1])
                return Holders(found[0][places], subscriptions, roster)
        return None

    def _of(self, table: str) -> _TableFilters:
        if table not in self._tables:
            self._tables[table] = _TableFilters(self._schema, self._limits)
        return self._tables[table]


class _TableFilters:
    """Filters over the rows of one table. `numbers` is how many numbers were given, those given back included."""

    def __init__(self, schema: Schema, limits: Limits) -> None:
        self._schema = schema
        self._limits = limits
        self.filters = NumberedFilters(schema)
        self.numbers = 0
        self._number: dict[str, int] = {}
        self._text: dict[int, str] = {}
        self._users: dict[int, int] = {}
        self._free: list[int] = []

    def enter(self, residuals: Residuals) -> Int32s:
        texts = residuals.texts.to_pylist()
        fresh = [text for text in texts if text not in self._number]
        for text in fresh:
            self._number[text] = number = self._free.pop() if self._free else self.numbers
            self.numbers = max(self.numbers, number + 1)
            self._text[number], self._users[number] = text, 0
        if fresh:
            bound = bind(fresh, self._schema, self._limits)
            if bound.errors:
                raise bound.errors[0][1]
            self.filters.add([self._number[text] for text in fresh], fresh, bound)
        numbers = np.array([self._number[text] for text in texts], np.int32)
        for number, users in zip(numbers.tolist(), _counts(residuals.codes, len(texts)), strict=True):
            self._users[number] += users
        return np.where(residuals.codes >= 0, numbers[residuals.codes], NO_FILTER).astype(np.int32)

    def leave(self, number: int) -> None:
        self._users[number] -= 1
        if not self._users[number]:
            del self._users[number], self._number[self._text.pop(number)]
            self.filters.remove([number])
            self._free.append(number)


def _counts(codes: Int32s, texts: int) -> list[int]:
    """Number of subscriptions with each text."""
    counted: list[int] = np.bincount(codes[codes >= 0], minlength=texts).tolist()
    return counted
