"""Workload, the result of every generator: schema, subscriptions and events; and the random draws and texts they
share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Bools, Floats, Int64s
from tamis.schema import Schema


@dataclass(frozen=True)
class Workload:
    """Workload with name and seed: equal names, sizes and seeds give equal rows on every machine.

    `subscriptions` has the string columns `id` and `filter`; `events` has a column an attribute, null where the
    attribute is absent and a list where it is multiple. `expected`: how many matches each event has, where others
    have counted them.
    """

    name: str
    schema: Schema
    subscriptions: pa.Table
    events: pa.Table
    expected: npt.NDArray[np.int64] | None = field(default=None, compare=False)

    def batches(self, rows: int = 8192) -> Iterator[pa.RecordBatch]:
        """Record batches of the events, of at most `size` rows."""
        return iter(self.events.combine_chunks().to_batches(max_chunksize=rows))


def numbered(texts: pa.StringArray) -> pa.Table:
    """Table of subscriptions `s0`, `s1`, … with these texts."""
    numbers = pa.array(np.arange(len(texts))).cast(pa.string())
    return pa.table({"id": pc.binary_join_element_wise("s", numbers, ""), "filter": texts})


def codes_as_strings(codes: npt.NDArray[np.int64], present: npt.NDArray[np.bool_] | None = None) -> pa.StringArray:
    """Strings of codes, 17 as `v17`; null where not present."""
    largest = int(codes.max(initial=0))
    words = pc.binary_join_element_wise("v", pa.array(np.arange(largest + 1)).cast(pa.string()), "")
    return words.take(pa.array(codes, mask=None if present is None else ~present))


def single_type(kinds: dict[str, str], event_type: str = "event") -> Schema:
    """Schema of one event type in which every attribute is optional."""
    return Schema.from_dict({"attributes": kinds, "event_types": {event_type: dict.fromkeys(kinds, "optional")}})


# Random draws that the generators share. The order of the draws is part of a workload's definition.

_ROWS_AT_ONCE = 100_000


def popularity(count: int) -> Floats:
    """Weights 1, 1/2, 1/3, …: the k-th attribute is named k times more rarely than the first."""
    return np.asarray(1 / np.arange(1, count + 1.0))


def distinct(rng: np.random.Generator, rows: int, count: int, weights: Floats) -> Int64s:
    """Distinct numbers in each row, drawn without replacement by weight: the largest of log(weight) + Gumbel noise.

    The order within a row is not random; where it matters, follow with `shuffled`.
    """
    chosen = np.empty((rows, count), np.int64)
    for start in range(0, rows, _ROWS_AT_ONCE):
        size = min(_ROWS_AT_ONCE, rows - start)
        score = np.log(weights)[None] + rng.gumbel(size=(size, len(weights)))
        best = np.argpartition(-score, count, axis=1) if count < len(weights) else np.argsort(-score, axis=1)
        chosen[start : start + size] = best[:, :count]
    return chosen


def shuffled(rng: np.random.Generator, numbers: Int64s) -> Int64s:
    """Rows each in random order."""
    return np.take_along_axis(numbers, np.argsort(rng.random(numbers.shape), axis=1), axis=1)


def zipf(rng: np.random.Generator, shape: tuple[int, int], values: int) -> Int64s:
    """Values 0, 1, …, each v with probability proportional to 1/(v+1)."""
    weights = popularity(values)
    weights /= weights.sum()
    return np.searchsorted(np.cumsum(weights), rng.random(shape)).clip(0, values - 1)


# Filter texts from arrays of conditions: millions of them, without a Python object each.


UNBOUNDED_BELOW = np.iinfo(np.int64).min
UNBOUNDED_ABOVE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Conditions:
    """Conditions `low ≤ attribute ≤ high`, one row a subscription and one column a condition.

    All four arrays have one form. Where `present` is false the row has one condition fewer. A row names no attribute
    twice.
    """

    attribute: Int64s
    low: Int64s
    high: Int64s
    present: Bools

    def texts(self, names: Sequence[str], coded: Bools) -> pa.StringArray:
        """Texts of the rows as conjunctions, attributes in ascending order.

        Conditions on coded attributes are equalities between strings.
        """
        order = np.argsort(np.where(self.present, self.attribute, len(names)), axis=1, kind="stable")
        attribute, low, high = (
            np.take_along_axis(each, order, axis=1) for each in (self.attribute, self.low, self.high)
        )
        present = np.take_along_axis(self.present, order, axis=1)
        words = pa.array(names)
        columns = [
            _column(words.take(pa.array(attribute[:, k])), coded[attribute[:, k]], low[:, k], high[:, k], present[:, k])
            for k in range(attribute.shape[1])
        ]
        return pc.binary_join_element_wise(*columns, " AND ", null_handling="skip")


_OPERATORS = pa.array([" BETWEEN ", " >= ", " <= ", " = 'v"])
_RANGE, _AT_LEAST, _AT_MOST, _EQUALITY = range(4)


def _column(names: pa.StringArray, coded: Bools, low: Int64s, high: Int64s, present: Bools) -> pa.StringArray:
    """Text of one condition a row, null where not present."""
    kind = np.select(
        [coded, high == UNBOUNDED_ABOVE, low == UNBOUNDED_BELOW], [_EQUALITY, _AT_LEAST, _AT_MOST], default=_RANGE
    )
    bound = _digits(np.where(kind == _AT_MOST, high, low))
    upper = pc.binary_join_element_wise(" AND ", _digits(np.where(kind == _RANGE, high, 0)), "")
    end = pc.case_when(pc.make_struct(pa.array(kind == _RANGE), pa.array(coded)), upper, "'", "")
    operator = _OPERATORS.take(pa.array(kind, mask=~present))
    return pc.binary_join_element_wise(names, operator, bound, end, "")


def _digits(numbers: Int64s) -> pa.StringArray:
    return pa.array(numbers).cast(pa.string())
