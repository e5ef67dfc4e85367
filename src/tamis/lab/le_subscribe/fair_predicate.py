"""The fair-predicate algorithm: every predicate once, then a count for every subscription."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tamis.lab.le_subscribe.counting import (
    Counters,
    Predicates,
    counters_of,
    loose_predicates,
    match_by_counting,
    needs,
    predicates_of,
    zeroed,
)
from tamis.lab.le_subscribe.verified import VerifiedLevel, rows_of
from tamis.matching.codes.codes import Conjuncts
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.plan import Knowledge


class FairPredicateLevel(VerifiedLevel):
    """One counter a conjunction, compared with its number of predicates after every event."""

    parts: ClassVar[dict[str, type[Any]]] = {"predicates": Predicates, "counters": Counters}
    kernel = match_by_counting

    @classmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Predicates, Counters]:
        loose = loose_predicates(conjuncts, rows_of(conjuncts), np.ones(len(conjuncts.lows), np.bool_))
        every = np.arange(len(conjuncts), dtype=np.int32)
        return predicates_of(loose, every, encoder), counters_of(needs(loose, len(every)), every)

    def working_memory(self) -> Any:
        return zeroed(self._own[1])


class FairPredicateMatcher(LevelledMatcher[FairPredicateLevel]):
    """Counting (Fabret et al., Le Subscribe, §3.1 Fig 2): each distinct predicate is stored and decided once an event.

    Equalities are found by hashing, inequalities by binary search in ordered arrays; every satisfied predicate adds
    one to the counters of its subscriptions, and the counters of all subscriptions are compared.

    Departs: a range of two bounds is two predicates; a filter with OR has a counter for each of its conjunctions;
    lists, negations and patterns besides are tested once their conjunction's counter is full; additions make levels
    (see LevelledMatcher) instead of entries in one table.
    """

    name: ClassVar[str] = "fair-predicate"
    level = FairPredicateLevel
