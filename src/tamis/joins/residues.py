"""What intervals do not say of rows, checked by the server where it works out results itself."""

from __future__ import annotations

import numpy as np

from tamis.joins.intake import Intake
from tamis.joins.netting import NetChanges
from tamis.joins.ranges import Integers, Mask
from tamis.joins.roster import Roster
from tamis.language import Limits, Tree, parse
from tamis.matching.naive import holds
from tamis.schema import Schema


class Residues:
    """The residual filters of subscriptions, each text parsed once."""

    def __init__(self, schema: Schema, limits: Limits) -> None:
        self._schema = schema
        self._limits = limits
        self._trees: dict[str, Tree] = {}

    def passing(self, changes: NetChanges, roster: Roster, intake: Intake) -> NetChanges:
        """Those results whose rows pass what the intervals of their subscription do not say."""
        doubtful = np.flatnonzero(roster.restricted(changes.subscription))
        if not len(doubtful):
            return changes
        numbers, back = np.unique(changes.subscription[doubtful], return_inverse=True)
        kept = np.ones(len(changes.rows), np.bool_)
        for place, table in enumerate(roster.place(int(numbers[0]))[0].group.signature.tables):
            texts = [_residual(int(number), table, roster) for number in numbers]
            distinct = [text for text in dict.fromkeys(texts) if text is not None]
            if distinct:
                listed = {text: code for code, text in enumerate(distinct)}
                codes = np.array([-1 if text is None else listed[text] for text in texts])[back]
                some = doubtful[codes >= 0]
                passes = self._hold(distinct, codes[codes >= 0], changes.rows[some, place], table, intake)
                kept[some[~passes]] = False
        return changes.take(kept)

    def _hold(self, texts: list[str], codes: Integers, rows: Integers, table: str, intake: Intake) -> Mask:
        """Whether filters hold of rows; each filter is asked once of each row."""
        pairs, back = np.unique(np.column_stack([codes, rows]), axis=0, return_inverse=True)
        held = [holds(self._tree(texts[code]), intake.values(table, row), self._schema) for code, row in pairs.tolist()]
        found: Mask = np.array(held, np.bool_)[back.ravel()]
        return found

    def _tree(self, text: str) -> Tree:
        tree = self._trees.get(text)
        if tree is None:
            tree = self._trees[text] = parse(text, self._schema, self._limits)
        return tree


def _residual(number: int, table: str, roster: Roster) -> str | None:
    part, place = roster.place(number)
    residuals = part.group.residuals.get(table)
    if residuals is None or (code := int(residuals.codes[place])) < 0:
        return None
    return str(residuals.texts[code].as_py())
