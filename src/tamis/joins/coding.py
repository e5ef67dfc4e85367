"""Values as the floats that range indexes compare (model.py says what they mean)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tamis.arrays import Floats, Int32s, Int64s
from tamis.language.joins import Edge, Signature
from tamis.language.joins.join import Column
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain, Schema

# What join subscriptions are once the language has read them: signatures, and intervals in flat arrays.
#
# Every value that a range index looks at is a float64 (coding.py makes them): floats and booleans as they are, integers
# and timestamps (microseconds) rounded, enumerated and hierarchical values by their position in the domain, strings by
# a dictionary's number. `ABSENT` stands for an attribute that a row does not have; it lies below every value, the least
# of which is `LOWEST`. An interval is closed. `low <= value <= high` is then all there is to test:
#
#     no condition          [ABSENT, HIGHEST]
#     `x <= 5`              [LOWEST, 5]
#     `x > 5.0`             [the float after 5.0, HIGHEST]
#     `x = 'red'`           [7, 7]
#     `x IS NULL`           [ABSENT, ABSENT]
#     never                 low > high
#
# What an interval cannot say, or not exactly (integers beyond 2^53, patterns, alternatives), is left to a residual: a
# filter on the table's rows that has to hold beside all its intervals.

__all__ = ["ABSENT", "HIGHEST", "LOWEST", "Column", "Edge", "Interval", "JoinGroup", "Joins", "Residuals", "Signature"]


ABSENT = -np.inf
LOWEST = float(np.finfo(np.float64).min)
HIGHEST = np.inf


@dataclass(frozen=True, slots=True)
class Interval:
    """One attribute's condition for each subscription of a group, closed at both ends."""

    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Residuals:
    """For each subscription of a group the filter that a table's rows must also pass: `texts[codes[i]]`, none if -1.

    Texts are canonical filters over the table's attributes, each once.
    """

    codes: Int32s
    texts: pa.StringArray


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """Subscriptions of one signature that restrict the same attributes.

    `rows` are positions among the subscriptions given; entry i of every array is about subscription `rows[i]`. A column
    that is not in `intervals` has no condition, a table that is not in `residuals` has none. `columns` is what the
    subscriber wants to see, in order; None for everything (`SELECT *`).
    """

    signature: Signature
    rows: Int64s
    intervals: Mapping[Column, Interval]
    residuals: Mapping[str, Residuals]
    columns: tuple[Column, ...] | None = None

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Joins:
    """Join subscriptions: `ids[group.rows[i]]` is the id of entry i of a group; each is in exactly one group."""

    ids: pa.Array
    groups: tuple[JoinGroup, ...]


EXACT = float(1 << 53)
"""Integers below this size are floats; larger ones are rounded, so that intervals between them need a residual."""


class Coding:
    """Turns values of a schema's attributes into floats, the same for rows and for subscriptions.

    Strings get numbers as they come, for good: rows and subscriptions that name the same string agree on it for as
    long as they share a `Coding`. Not safe for use by several threads at once.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._numbers: dict[str, dict[str, int]] = {}

    def column(self, name: str, values: pa.Array) -> Floats:
        """The values of a unique attribute, as in a canonical batch, null where absent."""
        attribute = self._schema.attributes[name]
        domain = attribute.domain
        assert not attribute.multiple
        absent = values.null_count > 0
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            numbers = {value: position for position, value in enumerate(domain.values)}
            coded = self._coded(values, numbers, grows=False)
        elif domain.kind == "string":
            coded = self._coded(values, self._numbers.setdefault(name, {}), grows=True)
        else:
            coded = _numbers_of(attribute, values)
        if absent:
            coded[values.is_null().to_numpy(zero_copy_only=False)] = ABSENT
        return coded

    def _coded(self, values: pa.Array, numbers: dict[str, int], grows: bool) -> Floats:
        encoded = values.dictionary_encode()
        own = np.empty(len(encoded.dictionary), np.float64)
        for place, value in enumerate(encoded.dictionary.to_pylist()):
            own[place] = numbers.setdefault(value, len(numbers)) if grows else numbers[value]
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return own[codes] if len(own) else np.full(len(values), ABSENT)


def _numbers_of(attribute: Attribute, values: pa.Array) -> Floats:
    if attribute.domain.kind == "timestamp":
        values = values.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    elif attribute.domain.kind == "boolean":
        values = values.cast(pa.int8())
    whole = values.fill_null(0).to_numpy(zero_copy_only=False)
    # Minus infinity is taken; adding zero leaves one zero.
    return np.maximum(whole.astype(np.float64), LOWEST) + 0.0
