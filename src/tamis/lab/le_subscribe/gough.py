"""The algorithm of Gough and Smith: one path through an automaton, rebuilt on every change."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tamis.lab.le_subscribe.gough_automata import Automata, automata_of
from tamis.lab.le_subscribe.gough_kernels import match_by_automata
from tamis.lab.le_subscribe.verified import VerifiedLevel
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.conjuncts import Conjuncts
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.knowledge import Knowledge


class GoughLevel(VerifiedLevel):
    """Automata over the intervals on single values."""

    parts: ClassVar[dict[str, type[Any]]] = {"automata": Automata}
    kernel = match_by_automata

    @classmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Automata]:
        return (automata_of(conjuncts, encoder.singles),)


class GoughMatcher(LevelledMatcher[GoughLevel]):
    """A single path (Gough and Smith 1995, as in Fabret et al., Le Subscribe, §3.1 Fig 3).

    An attribute a level, the value's edge found by binary search: each bound is looked at at most once an event, and
    where all fits into one automaton no more nodes are visited than there are attributes. What is added makes a new
    automaton of everything, as its authors do.

    Departs: states with the same future are one node; a subscription is written as soon as its last predicate holds,
    not at a leaf, and attributes that no subscription left asks for are skipped. The automaton of all subscriptions
    may need more space than there is: then those over the same attributes have one, and one that is still too large
    is split in two, so an event follows as many paths as there are automata. A removed subscription stays in the
    automaton, and is passed over, until the next addition. What is no interval on a single value is tested at the end.
    """

    name: ClassVar[str] = "gough"
    level = GoughLevel
    growth: ClassVar[float] = math.inf
    fold_at: ClassVar[float] = 0.0
