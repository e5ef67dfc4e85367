"""Constants that a level's filters compare with, collected by attribute during lowering and ranked into codes; ends of
intervals (`Edge`) as codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int64s
from tamis.language.predicates import Value
from tamis.matching.codes.dictionary import Dictionary, Numbers, Strings
from tamis.matching.codes.encoding import HIGHEST, LOWEST
from tamis.schema import EnumeratedDomain, HierarchicalDomain, Schema


@dataclass(frozen=True, slots=True)
class Ref:
    """Reference to some constants of one attribute, in the order in which they were given."""

    attribute: str
    index: int


class Constants:
    """Collects constants by attribute, then gives each its rank.

    Listed domains and booleans have all their constants from the start, in the domain's order.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._given: dict[str, list[Any]] = {}
        self._ordered: set[str] = set()
        self._ranks: dict[str, list[Int64s]] = {}
        self.dictionaries: dict[str, Dictionary] = {}

    def add(self, attribute: str, values: Any) -> Ref:
        """`values`: one value, or a column of them (NumPy for numbers, Arrow for strings)."""
        given = self._given.setdefault(attribute, [])
        given.append(values)
        return Ref(attribute, len(given) - 1)

    def compare_by_order(self, attribute: str) -> None:
        """Declares that the attribute is compared by order: other values are placed between the constants."""
        self._ordered.add(attribute)

    def use(self, attribute: str) -> None:
        """Declares that the attribute is read, though perhaps compared with nothing."""
        self._given.setdefault(attribute, [])

    def rank(self) -> None:
        """Ranks everything added; nothing may be added afterwards."""
        for attribute, given in self._given.items():
            domain = self._schema.attributes[attribute].domain
            if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
                self._rank_listed(attribute, pa.array(domain.values, pa.large_binary()), given)
            elif domain.kind in ("string", "binary"):  # bytes have no constants, only presence
                self._rank_strings(attribute, given)
            elif domain.kind == "boolean":
                self.dictionaries[attribute] = Numbers.build(np.arange(2, dtype=np.int64))
                self._ranks[attribute] = [np.asarray(v, np.int64).reshape(-1) for v in given]
            else:
                self._rank_numbers(attribute, given, np.float64 if domain.kind == "float" else np.int64)

    def ranks(self, ref: Ref) -> Int64s:
        return self._ranks[ref.attribute][ref.index]

    def _rank_listed(self, attribute: str, values: pa.Array, given: list[Any]) -> None:
        self.dictionaries[attribute] = Strings.build(values, ordered=False)
        self._ranks[attribute] = [np.asarray(pc.index_in(_as_bytes(v), values), np.int64) for v in given]

    def _rank_strings(self, attribute: str, given: list[Any]) -> None:
        pieces = [_as_bytes(v) for v in given]
        coded = pa.chunked_array(pieces, pa.large_binary()).combine_chunks().dictionary_encode()
        order = pc.array_sort_indices(coded.dictionary)
        rank = np.empty(len(order), np.int64)
        rank[np.asarray(order)] = np.arange(len(order))
        self.dictionaries[attribute] = Strings.build(coded.dictionary.take(order), attribute in self._ordered)
        self._ranks[attribute] = _split(rank[np.asarray(coded.indices)], [len(p) for p in pieces])

    def _rank_numbers(self, attribute: str, given: list[Any], kind: type) -> None:
        pieces: list[npt.NDArray[Any]] = [np.asarray(v, kind).reshape(-1) for v in given]
        if kind is np.float64:
            pieces = [p + 0.0 for p in pieces]  # -0.0 is 0.0
        constants, ranks = np.unique(np.concatenate([np.zeros(0, kind), *pieces]), return_inverse=True)
        self.dictionaries[attribute] = Numbers.build(constants)
        self._ranks[attribute] = _split(ranks, [len(p) for p in pieces])


def _as_bytes(values: Any) -> pa.Array:
    if isinstance(values, str | bytes):
        return pa.array([values.encode() if isinstance(values, str) else values], pa.large_binary())
    return values.cast(pa.large_binary())


def _split(values: Int64s, lengths: list[int]) -> list[Int64s]:
    return np.split(values, np.cumsum(lengths)[:-1]) if lengths else []


class Edge(Protocol):
    """One end of an interval for each of some conjunctions (or one for all): a code, once ranks are known."""

    def codes(self, constants: Constants) -> Int64s: ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Edge whose codes are known from the start."""

    values: Int64s

    def codes(self, constants: Constants) -> Int64s:
        return self.values


@dataclass(frozen=True, slots=True)
class Ranked:
    """Edge at a constant: its code (`step` 1), or the gap just below (0) or above it (2)."""

    ref: Ref
    step: int

    def codes(self, constants: Constants) -> Int64s:
        return 2 * constants.ranks(self.ref) + self.step


@dataclass(frozen=True, slots=True)
class Recoded:
    """Edge given in the codes of another dictionary.

    Codes at `closed` are now constant `ref[places]` and a step, as in `Ranked`.
    """

    ref: Ref
    old: Int64s
    closed: Int64s
    places: Int64s
    steps: Int64s

    def codes(self, constants: Constants) -> Int64s:
        codes = self.old.copy()
        codes[self.closed] = 2 * constants.ranks(self.ref)[self.places] + self.steps
        return codes


OPEN_LOW: Edge = Fixed(np.array([LOWEST], np.int64))
OPEN_HIGH: Edge = Fixed(np.array([HIGHEST], np.int64))


def numbers_of(domain: EnumeratedDomain | HierarchicalDomain, operator: str, value: Value) -> tuple[int, ...]:
    """The codes that satisfy `x operator value` in a listed domain."""
    return tuple(2 * position + 1 for position in domain.satisfying(operator, str(value)))
