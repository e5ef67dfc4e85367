"""Levels of the algorithms that find conjunctions by their intervals and have the rest verified."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tamis.matching.codes.columns import Encoded, Encoder
from tamis.matching.codes.conjuncts import Conjuncts
from tamis.matching.codes.level import Arrays, Int32s, Int64s, Level, Scratch, part_of, under
from tamis.matching.codes.names import Names
from tamis.matching.codes.texts import Texts
from tamis.matching.columnar.knowledge import Knowledge, learn
from tamis.matching.statistics import Statistics
from tamis.schema import Schema


class _Scratch(Scratch):
    def __init__(self, tests: int, several: int, event: int, level: VerifiedLevel) -> None:
        super().__init__(tests, several)
        self.event = np.zeros(event, np.int32)
        self.own = level.working_memory()


class VerifiedLevel(Level):
    """An algorithm is named tuples of arrays (`parts`), made by `lay_out`, and a kernel over them.

    Negations, lists, patterns, several conditions on one multiple-valued attribute are no intervals: the kernel hands
    the conjunctions whose intervals hold to `settle`, which tests what is left. A removed conjunction is marked in
    `alive`, which `settle` asks first.
    """

    parts: ClassVar[Mapping[str, type[Any]]]
    kernel: ClassVar[Any]

    def __init__(
        self, encoder: Encoder, conjuncts: Conjuncts, names: Names, texts: Texts, own: tuple[Any, ...]
    ) -> None:
        self._own = own
        self._alive, self._special = np.ones(len(conjuncts), np.int8), conjuncts.special
        scratch = _Scratch(len(conjuncts.test_columns), len(names) - conjuncts.simple, encoder.singles + 1, self)
        super().__init__(encoder, conjuncts, names, texts, scratch)
        self._scratch = scratch

    @classmethod
    def arranged(cls, encoder: Encoder, conjuncts: Conjuncts, names: Names, texts: Texts, arrays: Arrays) -> Self:
        own = tuple(kind(**part_of(f"{name}.", arrays)) for name, kind in cls.parts.items())
        return cls(encoder, conjuncts, names, texts, own)

    @classmethod
    def arrange(cls, conjuncts: Conjuncts, encoder: Encoder, schema: Schema, statistics: Statistics | None) -> Arrays:
        return _named(cls.parts, cls.lay_out(conjuncts, encoder, learn(conjuncts, encoder, schema, statistics)))

    @classmethod
    @abstractmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Any, ...]:
        """The parts, in their order."""

    def working_memory(self) -> Any:
        """What one thread's kernel writes to besides the common."""
        return ()

    def own_arrays(self) -> Arrays:
        return _named(self.parts, self._own)

    def strike(self, conjuncts: npt.NDArray[np.bool_] | slice) -> None:
        self._alive[conjuncts] = 0

    def run(
        self, encoded: Encoded, first: int, removed: bool, room: int, out: Int32s, ends: Int64s, work: Int64s
    ) -> int:
        scratch, conjuncts = self._scratch, self.conjuncts
        rest = self._alive, self._special, self.tests, conjuncts.owners, conjuncts.simple
        stop: int = type(self).kernel(
            encoded.codes, (encoded.set_ends, encoded.set_codes), first, self._own, rest, scratch.memory, scratch.seen,
            scratch.stamp, room, scratch.event, scratch.own, out, ends, work,
        )  # fmt: skip
        return stop


def _named(parts: Mapping[str, type[Any]], own: tuple[Any, ...]) -> Arrays:
    arrays: Arrays = {}
    for name, part in zip(parts, own, strict=True):
        arrays |= under(f"{name}.", part._asdict())
    return arrays
