"""Hanson's algorithm: an interval tree on the most selective predicate, the rest verified."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.lab.le_subscribe.hanson_kernels import match_by_trees
from tamis.lab.le_subscribe.hanson_trees import Trees, most_selective, trees_of
from tamis.lab.le_subscribe.intervals import Intervals, intervals_of, rows_of, taken
from tamis.lab.le_subscribe.verified import VerifiedLevel
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.conjuncts import Conjuncts
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.knowledge import Knowledge


class HansonLevel(VerifiedLevel):
    """A tree a column, and by mark the intervals that are not in a tree."""

    parts: ClassVar[dict[str, type[Any]]] = {"trees": Trees, "intervals": Intervals}
    kernel = match_by_trees

    @classmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Trees, Intervals]:
        rows = rows_of(conjuncts)
        chosen = most_selective(conjuncts, rows, encoder, knowledge)
        others = conjuncts.columns < encoder.singles
        others[chosen] = False
        trees = trees_of(conjuncts, rows, chosen, encoder)
        return trees, taken(intervals_of(conjuncts, others), trees.rows)


class HansonMatcher(LevelledMatcher[HansonLevel]):
    """Interval binary search trees (Hanson et al. 1990, as in Fabret et al., Le Subscribe, §3.1 Fig 6).

    The most selective predicate of each subscription is in the tree of its attribute; the subscriptions whose one is
    satisfied are found on the way of the event's value, and their other predicates evaluated one by one.

    Departs: selectivity is estimated from the statistics of the stream where there are any, else from the constants
    of the subscriptions; a range of two bounds is one predicate; the trees are balanced once and frozen, and additions
    make levels (see LevelledMatcher); what is no interval is tested at the end.
    """

    name: ClassVar[str] = "hanson"
    level = HansonLevel
