"""Predicate index: every distinct predicate of the standing filters once, under a number (Li et al. 2005, §3.1).

A number is in use as long as a standing filter has the predicate; bounds and flags are flat arrays for kernels.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.language.extents import END, START, Cut, Extent, everything
from tamis.language.predicates import Literal, Not, Present, Versus
from tamis.matching.base.flat_arrays import doubled
from tamis.routing.covering.exact_values import is_absence, settled
from tamis.routing.covering.summary import Compared, Said, Summary, by_pair, compared, pair_of, versus_of
from tamis.schema import EVENT_TYPE, Attribute, Schema

# Bounds: cuts between values as integers in the same order, so that kernels can compare them.

LOWEST, HIGHEST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)
_BYTES = 8
_SIGN = 1 << 63


def is_exact(attribute: Attribute) -> bool:
    """True if different cuts have different numbers; not so for strings with a long common prefix."""
    return attribute.domain.kind not in ("string", "binary")


def first(cut: Cut, attribute: Attribute) -> int:
    """Least value after a cut, as an integer; for strings, one no greater than it."""
    if cut == START:
        return _of_double(-np.inf) if attribute.domain.kind == "float" else LOWEST
    return HIGHEST if cut == END else _number(cut[1], attribute)


def last(cut: Cut, attribute: Attribute) -> int:
    """Greatest value before a cut, as an integer; for strings, one no less than it."""
    if cut == END:
        return _of_double(np.inf) if attribute.domain.kind == "float" else HIGHEST
    if cut == START:
        return LOWEST
    return _number(cut[1], attribute) - (1 if is_exact(attribute) else 0)


def _number(value: object, attribute: Attribute) -> int:
    kind = attribute.domain.kind
    if kind == "float":
        return _of_double(float(value))  # type: ignore[arg-type]
    if kind == "string":
        head = str(value).encode("utf-8", "surrogatepass")[:_BYTES].ljust(_BYTES, b"\0")
        return int.from_bytes(head, "big") - _SIGN
    return int(value)  # type: ignore[call-overload]


def _of_double(value: float) -> int:
    """Order-preserving integer of a double, neighbours adjacent; both zeros are one."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value + 0.0))
    return int(bits) if bits >= 0 else -(int(bits) + _SIGN)


# Flags of a predicate, as bits: what kernels may conclude from its bounds.

WHOLE = 1  # any value will do: whatever has one satisfies it
RANGES = 2  # its ranges say exactly which values will do
POINT = 4  # one value will do
OPAQUE = 8  # bounds are all that is known of it: a closer look decides
SEVERAL = 16  # it asks for more than one value of a multi-valued attribute, or something of all of them


Terms = tuple[int, ...]
"""A conjunction: its predicates' numbers, ascending by column."""

_SAYS_NOTHING = -1
_FIRST_ROOM = 256
_Key = tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Predicate:
    """Condition of a conjunction on one attribute: all its literals on it, and their value set.

    What it asks of a pair of attributes that are compared with each other is a predicate by itself: then `orders` are
    what the comparisons say, and nothing is `said`.
    """

    literals: _Key
    said: Said | None
    orders: Compared | None = None


class PredicateIndex:
    """Predicates by attribute, then by condition; each distinct one has one number, its Boolean variable.

    Predicate t is on column `columns[t]`: an attribute, an attribute's absence, or a pair that is compared. It admits
    values from `lows[t]` to `highs[t]`; more exactly, ranges `starts[t]:starts[t] + counts[t]` of `range_lows` and
    `range_highs`, as far as the bits of `flags[t]` say that numbers can tell. Numbers of predicates that no filter has
    any more, which are not `alive`, are given to new ones: `births` are different then.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.columns = np.zeros(_FIRST_ROOM, np.int32)
        self.lows = np.zeros(_FIRST_ROOM, np.int64)
        self.highs = np.zeros(_FIRST_ROOM, np.int64)
        self.flags = np.zeros(_FIRST_ROOM, np.uint8)
        self.alive = np.zeros(_FIRST_ROOM, np.bool_)
        self.births = np.zeros(_FIRST_ROOM, np.int64)
        self.starts = np.zeros(_FIRST_ROOM, np.int32)
        self.counts = np.zeros(_FIRST_ROOM, np.int32)
        self.range_lows = np.zeros(_FIRST_ROOM, np.int64)
        self.range_highs = np.zeros(_FIRST_ROOM, np.int64)
        self._ranges = 0
        self._predicates: list[Predicate | None] = []
        self._uses: list[int] = []
        self._written: dict[_Key, int] = {}
        self._spellings: list[list[_Key]] = []
        self._meant: dict[tuple[Any, ...], int] = {}
        self._meanings: list[tuple[Any, ...]] = []
        self._columns: dict[tuple[str, ...], int] = {}
        self._column_of: list[int] = []
        self._free: list[int] = []
        self._born = 0

    def __len__(self) -> int:
        return len(self._predicates) - len(self._free)

    def __getitem__(self, number: int) -> Predicate:
        found = self._predicates[number]
        assert found is not None
        return found

    def __iter__(self) -> Iterator[int]:
        return (number for number, predicate in enumerate(self._predicates) if predicate is not None)

    @property
    def end(self) -> int:
        """Upper end of the numbers of predicates."""
        return len(self._predicates)

    @property
    def flat(self) -> tuple[Any, ...]:
        """Arrays of the predicates for kernels."""
        return self.lows, self.highs, self.flags, self.starts, self.counts, self.range_lows, self.range_highs

    def enter(self, conjunct: Sequence[Literal]) -> Terms | None:
        """Numbers of a conjunction's predicates, in use from now on; None if no event satisfies the conjunction."""
        terms = []
        for key in _by_attribute(conjunct):
            number = self._written.get(key)
            if number is None:
                number = self._add(key)
                if number is None:
                    return None
            if number != _SAYS_NOTHING:
                terms.append(number)
        if len(terms) > 1:
            terms.sort(key=self._column_of.__getitem__)
        for number in terms:
            self._uses[number] += 1
        return tuple(terms)

    def release(self, terms: Terms) -> list[int]:
        """Ends a conjunction's use of its predicates; returns those that are gone with it."""
        gone = []
        for number in terms:
            self._uses[number] -= 1
            if not self._uses[number]:
                self._forget(number)
                gone.append(number)
        return gone

    def uses(self, number: int) -> int:
        """Number of conjunctions that have a predicate."""
        return self._uses[number]

    def column(self, number: int) -> int:
        """Column of a predicate."""
        return self._column_of[number]

    def implies(self, stronger: int, weaker: int) -> bool:
        """True if one predicate provably follows from another on the same column."""
        if stronger == weaker:
            return True
        known = self[stronger].said or self[stronger].orders
        return known is not None and all(map(known.implies, self[weaker].literals))

    def _add(self, key: _Key) -> int | None:
        """Adds a new spelling of a known predicate, or of a new one; None if nothing satisfies it."""
        versus = versus_of(key[0])
        said: Said | None = None
        orders: Compared | None = None
        if versus is not None:
            pair = pair_of(versus)
            orders = compared(key, pair, self.schema)
            if orders.impossible:
                return None
            meaning: tuple[Any, ...] = (pair, orders)
            column: tuple[str, ...] = ("versus", *pair)
        else:
            summary = Summary(key, self.schema)
            ((name, said),) = summary.said.items()
            if said.impossible:
                return None
            whole = settled(everything(said.attribute), said.attribute)
            always = name == EVENT_TYPE and self.schema.default_event_type is not None
            if always and not said.absent and said.values == whole and not said.some and not said.patterns:
                return _SAYS_NOTHING
            parts, patterns = tuple(sorted(set(said.some))), frozenset(said.patterns)
            meaning = (name, said.absent, said.values, parts, patterns)
            column = ("absent" if said.absent else "values", name)
        number = self._meant.get(meaning)
        if number is None:
            number = self._place(Predicate(key, said, orders), column)
            self._meant[meaning], self._meanings[number] = number, meaning
            self._describe(number)
        self._written[key] = number
        self._spellings[number].append(key)
        return number

    def _place(self, predicate: Predicate, column: tuple[str, ...]) -> int:
        if self._free:
            number = self._free.pop()
            self._predicates[number], self._spellings[number] = predicate, []
        else:
            number = len(self._predicates)
            self._predicates.append(predicate)
            self._spellings.append([])
            self._meanings.append(())
            self._uses.append(0)
            self._column_of.append(0)
            if number >= len(self.columns):
                for name in ("columns", "lows", "highs", "flags", "alive", "births", "starts", "counts"):
                    setattr(self, name, doubled(getattr(self, name)))
        self._column_of[number] = self._columns.setdefault(column, len(self._columns))
        self.columns[number] = self._column_of[number]
        self._born += 1
        self.births[number], self.alive[number] = self._born, True
        return number

    def _describe(self, number: int) -> None:
        """Writes bounds, ranges and flags of a predicate."""
        said, orders = self[number].said, self[number].orders
        if orders is not None:
            if orders.some:
                self._write(number, [(LOWEST, HIGHEST)], SEVERAL | OPAQUE)
            else:
                self._write(number, [(k, k) for k in range(4) if orders.every >> k & 1], RANGES)
            return
        if said is None or said.absent:
            self._write(number, [(0, 0)], RANGES | WHOLE)
            return
        attribute = said.attribute
        whole = settled(everything(attribute), attribute)
        extent, flags = said.values, 0
        if attribute.multiple and said.some:
            if len(set(said.some)) > 1 or said.values != whole or said.patterns:
                self._write(number, [(LOWEST, HIGHEST)], SEVERAL | OPAQUE)
                return
            extent = said.some[0]
        elif attribute.multiple and said.values != whole:
            self._write(number, [(LOWEST, HIGHEST)], SEVERAL | OPAQUE)
            return
        if said.patterns:
            flags = OPAQUE | (SEVERAL if attribute.multiple else 0)
        elif extent == whole:
            flags = WHOLE
        elif is_exact(attribute):
            flags = RANGES
        elif _is_point(extent):
            flags = POINT
        else:
            flags = OPAQUE
        self._write(number, [(first(start, attribute), last(end, attribute)) for start, end in extent], flags)

    def _write(self, number: int, ranges: list[tuple[int, int]], flags: int) -> None:
        while self._ranges + len(ranges) > len(self.range_lows):
            self._compact()
        start = self._ranges
        for k, (low, high) in enumerate(ranges):
            self.range_lows[start + k], self.range_highs[start + k] = low, high
        self._ranges += len(ranges)
        self.starts[number], self.counts[number] = start, len(ranges)
        self.lows[number], self.highs[number] = ranges[0][0], ranges[-1][1]
        self.flags[number] = flags

    def _compact(self) -> None:
        """Drops the ranges of forgotten predicates, and makes room if they were few."""
        lows, highs, end = np.zeros_like(self.range_lows), np.zeros_like(self.range_highs), 0
        for number in self:
            start, count = int(self.starts[number]), int(self.counts[number])
            lows[end : end + count] = self.range_lows[start : start + count]
            highs[end : end + count] = self.range_highs[start : start + count]
            self.starts[number] = end
            end += count
        if 2 * end > len(lows):
            lows, highs = doubled(lows), doubled(highs)
        self.range_lows, self.range_highs, self._ranges = lows, highs, end

    def _forget(self, number: int) -> None:
        for key in self._spellings[number]:
            del self._written[key]
        del self._meant[self._meanings[number]]
        self._predicates[number], self._spellings[number] = None, []
        self.alive[number] = False
        self._free.append(number)


def _by_attribute(conjunct: Sequence[Literal]) -> list[_Key]:
    """Literals of a conjunct by attribute; attributes that are compared must be present as well."""
    keys: list[_Key] = []
    previous = None
    for literal in conjunct:  # sorted, so those on one attribute are together
        leaf = literal.leaf if type(literal) is Not else literal
        if type(leaf) is Versus:
            return _with_comparisons(conjunct)
        name = leaf.attribute  # type: ignore[union-attr]
        if name == previous:
            keys[-1] = (*keys[-1], literal)
        else:
            keys.append((literal,))
            previous = name
    return keys


def _with_comparisons(conjunct: Sequence[Literal]) -> list[_Key]:
    named: dict[str, list[Literal]] = {}
    pairs = by_pair(conjunct)
    for literal in conjunct:
        leaf = literal.leaf if isinstance(literal, Not) else literal
        if not isinstance(leaf, Versus):
            named.setdefault(leaf.attribute, []).append(literal)
    for name in (name for pair in pairs for name in pair):
        literals = named.setdefault(name, [])
        if all(map(is_absence, literals)):
            literals.append(Present(name))
    return [*map(tuple, named.values()), *pairs.values()]


def _is_point(extent: Extent) -> bool:
    return len(extent) == 1 and len(extent[0][0]) == len(extent[0][1]) == 3 and extent[0][0][1] == extent[0][1][1]
