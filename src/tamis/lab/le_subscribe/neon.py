"""The NEON algorithm: predicate tables, nothing shared between subscriptions."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.lab.le_subscribe.intervals import rows_of
from tamis.lab.le_subscribe.neon_kernels import match_by_tables
from tamis.lab.le_subscribe.predicates import loose_predicates, needs
from tamis.lab.le_subscribe.verified import VerifiedLevel
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.conjuncts import Conjuncts
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.knowledge import Knowledge

Int32s = npt.NDArray[np.int32]


class Tables(NamedTuple):
    """Operation o compares `columns[o]` by `comparisons[o]`; its predicates are rows `starts[o]:starts[o + 1]`.

    A row is a bound and a conjunction. `needs`: the predicates of each conjunction; `loose`: those that have none.
    """

    columns: Int32s
    comparisons: Int32s
    starts: npt.NDArray[np.int64]
    bounds: Int32s
    rows: Int32s
    needs: npt.NDArray[np.uint8]
    loose: Int32s


class NeonLevel(VerifiedLevel):
    """The tables, and a count for every conjunction that some predicate was satisfied of."""

    parts: ClassVar[dict[str, type[Any]]] = {"tables": Tables}
    kernel = match_by_tables

    @classmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Tables]:
        loose = loose_predicates(conjuncts, rows_of(conjuncts), np.ones(len(conjuncts.lows), np.bool_))
        operations = loose.columns * 3 + loose.comparisons
        order = np.argsort(operations, kind="stable")
        found, starts = np.unique(operations[order], return_index=True)
        counts = needs(loose, len(conjuncts))
        tables = Tables(
            columns=found // 3,
            comparisons=found % 3,
            starts=np.append(starts, len(order)).astype(np.int64),
            bounds=loose.bounds[order],
            rows=loose.rows[order],
            needs=counts,
            loose=np.flatnonzero(counts == 0).astype(np.int32),
        )
        return (tables,)

    def working_memory(self) -> Any:
        (tables,) = self._own
        return np.zeros(len(tables.needs), np.uint8), np.zeros(len(tables.needs), np.int32)


class NeonMatcher(LevelledMatcher[NeonLevel]):
    """Predicate tables (NEONRules, as in Fabret et al., Le Subscribe, §3.1 Fig 8).

    An index over attribute and comparison locates the predicates that may be asked of the event; each of them is
    evaluated, as often as subscriptions repeat it, and counted for its subscription.

    Departs: the event type is an attribute like the others, not part of the index; a range of two bounds is two
    predicates; what is neither equality nor inequality, attribute against attribute included, is tested at the end
    or is an equality of its own column; additions make levels (see LevelledMatcher).
    """

    name: ClassVar[str] = "neon"
    level = NeonLevel
