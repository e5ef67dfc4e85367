"""What subscriptions ask for most: attributes, and conditions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.analysis.wording import Wording
from tamis.matching.codes.columns import Encoder
from tamis.matching.statistics import Statistics
from tamis.routing.covering.facts.facts import Facts
from tamis.routing.covering.facts.kernels import ABSENT, VERSUS
from tamis.routing.covering.search.classes import Classes
from tamis.schema import Schema

Int64s = npt.NDArray[np.int64]

CONDITIONS = 100
_KIND_BITS, _NUMBER_BITS = 3, 32

ATTRIBUTES = pa.schema(
    [("attribute", pa.string()), ("subscriptions", pa.int64()), ("conditions", pa.int64()), ("presence", pa.float64())]
)
PREDICATES = pa.schema([("attribute", pa.string()), ("condition", pa.string()), ("subscriptions", pa.int64())])


class Usage:
    """How many subscriptions have each condition, and name each attribute; one that repeats itself counts once.

    A condition is a fact, but for presence where more is asked of the attribute. As many as there are in `keys`:
    attribute, kind and number in one.
    """

    def __init__(self, facts: Facts, classes: Classes) -> None:
        self._facts = facts
        sizes = np.bincount(classes.of[classes.of >= 0], minlength=len(classes))
        owners = np.repeat(np.arange(len(classes)), np.diff(classes.offsets))
        counts = np.diff(facts.offsets)[classes.members]
        starts = facts.offsets[classes.members]
        ends = np.cumsum(counts)
        chosen = np.repeat(starts - (ends - counts), counts) + np.arange(int(counts.sum()))
        of_class = np.repeat(owners, counts)
        asked = ~_is_mere_presence(facts)[chosen]
        keys = _keys(facts)[chosen[asked]]
        self.keys, self.counts = _counted(keys, of_class[asked], sizes)
        self.attributes, self.named = _counted(facts.attributes[chosen].astype(np.int64), of_class, sizes)

    def attribute_table(self, statistics: Statistics | None) -> pa.Table:
        """The attributes, the one that most subscriptions name first."""
        order = np.argsort(-self.named, kind="stable")
        different = np.bincount(self.keys >> (_KIND_BITS + _NUMBER_BITS), minlength=len(self._facts.names))
        names = [self._facts.names[a] for a in self.attributes[order].tolist()]
        known = {} if statistics is None else statistics.attributes
        presence = [known[name].presence if name in known else None for name in names]
        columns = [names, self.named[order], different[self.attributes[order]], presence]
        return pa.table([pa.array(c, f.type) for c, f in zip(columns, ATTRIBUTES, strict=True)], schema=ATTRIBUTES)

    def predicate_table(self, encoder: Encoder, schema: Schema, most: int = CONDITIONS) -> pa.Table:
        """The conditions that most subscriptions have."""
        wording = Wording(self._facts, encoder, schema)
        order = np.argsort(-self.counts, kind="stable")[:most]
        rows = []
        for key, count in zip(self.keys[order].tolist(), self.counts[order].tolist(), strict=True):
            attribute = key >> (_KIND_BITS + _NUMBER_BITS)
            kind, number = key >> _NUMBER_BITS & 7, key & ((1 << _NUMBER_BITS) - 1)
            text = wording.of(attribute, kind, number)
            rows.append({"attribute": self._facts.names[attribute], "condition": text, "subscriptions": count})
        return pa.Table.from_pylist(rows, PREDICATES)


def _keys(facts: Facts) -> Int64s:
    wide = facts.attributes.astype(np.int64) << (_KIND_BITS + _NUMBER_BITS)
    return wide | facts.kinds.astype(np.int64) << _NUMBER_BITS | facts.numbers


def _is_mere_presence(facts: Facts) -> npt.NDArray[np.bool_]:
    """Which facts say no more than that an attribute is present, where other facts of the conjunction say so too."""
    whole = facts.allows_all
    conjunction = np.repeat(np.arange(len(facts)), np.diff(facts.offsets))
    following = np.zeros(len(whole), np.bool_)
    same = (facts.attributes[1:] == facts.attributes[:-1]) & (conjunction[1:] == conjunction[:-1])
    following[:-1] = same & (facts.kinds[1:] != ABSENT)
    versus = facts.kinds >= VERSUS
    compared = conjunction[versus] * len(facts.names) + facts.others[facts.numbers[versus]]
    return whole & (following | np.isin(conjunction * len(facts.names) + facts.attributes, compared))


def _counted(keys: Int64s, of_class: Int64s, sizes: Int64s) -> tuple[Int64s, Int64s]:
    """Each key there is, and how many subscriptions are in the classes that have it."""
    if not len(keys):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((of_class, keys))
    keys, of_class = keys[order], of_class[order]
    new = np.ones(len(keys), np.bool_)
    new[1:] = (keys[1:] != keys[:-1]) | (of_class[1:] != of_class[:-1])
    keys, of_class = keys[new], of_class[new]
    found, starts = np.unique(keys, return_index=True)
    return found, np.add.reduceat(sizes[of_class], starts)
