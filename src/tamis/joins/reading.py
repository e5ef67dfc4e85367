"""Messages as one subscription's client reads them: names and rows in place of numbers."""

from __future__ import annotations

import numpy as np

from tamis.joins.client import Cut, Forgotten, Kept, Note, Part, Whole
from tamis.joins.index.messages import Form, Messages, Operation, accepted_by
from tamis.joins.index.ranges import Ranges
from tamis.joins.intake import Intake
from tamis.joins.layout import Layout


def notes_for(messages: Messages, number: int, ranges: Ranges, layout: Layout, intake: Intake) -> list[Note]:
    """Messages that a subscription's filter accepts."""
    reader = _Reader(messages, number, ranges, layout, intake)
    return [reader.note(int(m)) for m in np.flatnonzero(accepted_by(messages, ranges, number, layout.shape))]


class _Reader:
    """Messages of one batch, for one subscription."""

    def __init__(self, messages: Messages, number: int, ranges: Ranges, layout: Layout, intake: Intake) -> None:
        self.messages = messages
        self.layout = layout
        self.intake = intake
        self.filtering = ranges.filtering[number]
        self.low, self.high = ranges.low[number], ranges.high[number]

    def note(self, m: int) -> Note:
        where = self.messages.tuples(m)
        places = range(where.start, where.stop)
        parts: tuple[Part, ...]
        if self.messages.form[m] in (Form.JOINED, Form.RESULTS):
            parts = tuple(
                _whole(self.messages, group, self.layout, self.intake, all(map(self.wanted, group)))
                for group in _results(self.messages, places)
            )
        else:
            parts = tuple(self.part(place) for place in places)
        return Note(int(self.messages.sequence[m]), parts)

    def part(self, place: int) -> Part:
        operation, number = self.messages.operation[place], int(self.messages.row[place])
        table = self.layout.tables[self.messages.table[place]]
        if operation == Operation.DROP:
            edge = list(self.layout.edges)[self.filtering[self.messages.table[place]]]
            return Cut(table, self.intake.values(edge.right if edge.left == table else edge.left, number))
        identity = self.intake.identity(table, number)
        if operation == Operation.DELETE:
            return Forgotten(table, identity)
        return Kept(table, identity, self.intake.values(table, number), self.wanted(place))

    def wanted(self, place: int) -> bool:
        table = int(self.messages.table[place])
        column, wide = int(self.layout.shape.first_column[table]), self.layout.shape.considered[table]
        first = int(self.messages.first_value[place])
        values = self.messages.values[first : first + wide]
        here = slice(column, column + wide)
        return bool(((self.low[here] <= values) & (values <= self.high[here])).all())


def _results(messages: Messages, places: range) -> list[list[int]]:
    """The tuples of each result: tables ascend in one, so another begins where they do not."""
    found: list[list[int]] = []
    for place in places:
        if not found or messages.table[place] <= messages.table[place - 1]:
            found.append([])
        found[-1].append(place)
    return found


def _whole(messages: Messages, places: list[int], layout: Layout, intake: Intake, wanted: bool) -> Whole:
    rows = [(layout.tables[messages.table[place]], int(messages.row[place])) for place in places]
    return Whole(
        tuple(intake.identity(table, number) for table, number in rows),
        tuple(intake.values(table, number) for table, number in rows),
        there=bool(messages.operation[places[0]] == Operation.INSERT),
        wanted=wanted,
    )
