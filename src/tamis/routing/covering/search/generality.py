"""How much a conjunction asks for, as a number that falls, or stays, from every filter to those that cover it.

So the filters that may cover another one are among those that ask for no more, and the few that ask for least can be
looked at first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.routing.covering.facts.facts import Facts
from tamis.routing.covering.facts.kernels import EVERY, SOME

Int64s = npt.NDArray[np.int64]

_BIT = 1 << 16  # sums of whole numbers do not depend on the order in which they are added
_NAMED = 1  # bits for asking for an attribute at all


def demands(facts: Facts) -> Int64s:
    """For each conjunction the bits that it asks for: of each attribute one for its presence, or absence, and those of
    the smallest set that every value, or some value, must be in.

    A conjunction that covers another names no other attributes, and of each the sets are no smaller.
    """
    sized = (facts.kinds == EVERY) | (facts.kinds == SOME)
    share = np.ones(len(facts.kinds))
    all_places = facts.places.counts[facts.attributes[sized]]
    share[sized] = facts.sizes[facts.numbers[sized]] / np.maximum(1, all_places)
    bits = np.rint(-np.log2(share) * _BIT).astype(np.int64)
    # Facts are by attribute: the largest demand of each run of facts on one attribute counts.
    conjunction = np.repeat(np.arange(len(facts)), np.diff(facts.offsets))
    asked = np.zeros(len(facts), np.int64)
    if len(bits):
        new = np.ones(len(bits), np.bool_)
        new[1:] = (conjunction[1:] != conjunction[:-1]) | (facts.attributes[1:] != facts.attributes[:-1])
        starts = np.flatnonzero(new)
        np.add.at(asked, conjunction[starts], np.maximum.reduceat(bits, starts) + _NAMED * _BIT)
    return asked
