"""The equality-preferred algorithm: clusters by equalities, the other predicates counted."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.lab.le_subscribe.clustering import (
    Clusters,
    clusters_of,
    equalities,
    lookup_memory,
    match_by_clusters_and_counting,
    match_by_clusters_and_quarantine,
)
from tamis.lab.le_subscribe.counting import (
    Counters,
    Predicates,
    counters_of,
    loose_predicates,
    needs,
    predicates_of,
    zeroed,
)
from tamis.lab.le_subscribe.verified import Intervals, VerifiedLevel, intervals_of, rows_of, taken
from tamis.matching.codes.codes import Conjuncts
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.plan import Knowledge


class Counted(NamedTuple):
    """Number of predicates of each conjunction besides its equalities, and the conjunctions without equalities."""

    needs: npt.NDArray[np.uint8]
    unequal: npt.NDArray[np.int32]


class EqualityPreferredLevel(VerifiedLevel):
    """Clusters, and one counter a conjunction for its other predicates."""

    parts: ClassVar[dict[str, type[Any]]] = {"clusters": Clusters, "predicates": Predicates, "counted": Counted}
    kernel = match_by_clusters_and_counting

    @classmethod
    def lay_out(
        cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge
    ) -> tuple[Clusters, Predicates, Counted]:
        rows = rows_of(conjuncts)
        equal = equalities(conjuncts, rows, encoder)
        loose = loose_predicates(conjuncts, rows, ~equal)
        every = np.arange(len(conjuncts), dtype=np.int32)
        unequal = np.flatnonzero(np.bincount(rows[equal], minlength=len(every)) == 0).astype(np.int32)
        counted = Counted(needs(loose, len(every)), unequal)
        return clusters_of(conjuncts, rows, equal, encoder), predicates_of(loose, every, encoder), counted

    def working_memory(self) -> Any:
        clusters, _, counted = self._own
        return *lookup_memory(clusters), np.zeros(len(counted.needs), np.uint8)


class EqualityPreferredMatcher(LevelledMatcher[EqualityPreferredLevel]):
    """Clusters by equality schema (Fabret et al., Le Subscribe, §3.1 Fig 4), the other predicates counted.

    One lookup for each schema that the event's attributes contain finds the subscriptions whose equalities hold; they,
    and those without equalities, match if the count of their other predicates is full.

    Departs: of several conditions on sets a conjunction is clustered by the first and the others are counted; what is
    neither equality nor inequality is tested at the end; additions make levels (see LevelledMatcher).
    """

    name: ClassVar[str] = "equality-preferred"
    level = EqualityPreferredLevel


# The equality-preferred algorithm with nonequality quarantining.


class QuarantineLevel(VerifiedLevel):
    """Clusters whose members carry their other intervals, in the members' order; counters for the rest only."""

    parts: ClassVar[dict[str, type[Any]]] = {
        "clusters": Clusters,
        "intervals": Intervals,
        "predicates": Predicates,
        "counters": Counters,
    }
    kernel = match_by_clusters_and_quarantine

    @classmethod
    def lay_out(
        cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge
    ) -> tuple[Clusters, Intervals, Predicates, Counters]:
        rows = rows_of(conjuncts)
        equal = equalities(conjuncts, rows, encoder)
        clusters = clusters_of(conjuncts, rows, equal, encoder)
        clustered = np.zeros(len(conjuncts), np.bool_)
        clustered[clusters.members] = True
        # Sets besides the first are tested, as every set is.
        others = intervals_of(conjuncts, ~equal & clustered[rows] & (conjuncts.columns < encoder.singles))
        quarantined = np.flatnonzero(~clustered).astype(np.int32)
        counter = np.cumsum(~clustered, dtype=np.int32) - 1
        loose = loose_predicates(conjuncts, rows, ~clustered[rows])
        counters = counters_of(needs(loose, len(conjuncts))[quarantined], quarantined)
        return clusters, taken(others, clusters.members), predicates_of(loose, counter, encoder), counters

    def working_memory(self) -> Any:
        clusters, _, _, counters = self._own
        return *lookup_memory(clusters), *zeroed(counters)


class QuarantineMatcher(LevelledMatcher[QuarantineLevel]):
    """Equality-preferred with nonequality quarantining (Fabret et al., Le Subscribe, §3.1 Fig 5).

    Subscriptions with equalities are found in clusters, and their other predicates evaluated one by one; only the
    subscriptions without equalities, apart from the others, are counted for.

    Departs: of several conditions on sets a conjunction is clustered by the first; what is neither equality nor
    inequality is tested at the end; additions make levels (see LevelledMatcher).
    """

    name: ClassVar[str] = "quarantine"
    level = QuarantineLevel
