"""Filter texts from arrays of conditions: millions of them, without a Python object each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

UNBOUNDED_BELOW = np.iinfo(np.int64).min
UNBOUNDED_ABOVE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Conditions:
    """`low ≤ attribute ≤ high`, one row a subscription and one column a condition.

    All four arrays have one form. Where `present` is false the row has one condition fewer. A row names no attribute
    twice.
    """

    attribute: Integers
    low: Integers
    high: Integers
    present: Flags

    def texts(self, names: Sequence[str], coded: Flags) -> pa.StringArray:
        """Each row as a conjunction, its attributes in ascending order.

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


def _column(names: pa.StringArray, coded: Flags, low: Integers, high: Integers, present: Flags) -> pa.StringArray:
    """One condition a row as text, null where not present."""
    kind = np.select(
        [coded, high == UNBOUNDED_ABOVE, low == UNBOUNDED_BELOW], [_EQUALITY, _AT_LEAST, _AT_MOST], default=_RANGE
    )
    bound = _digits(np.where(kind == _AT_MOST, high, low))
    upper = pc.binary_join_element_wise(" AND ", _digits(np.where(kind == _RANGE, high, 0)), "")
    end = pc.case_when(pc.make_struct(pa.array(kind == _RANGE), pa.array(coded)), upper, "'", "")
    operator = _OPERATORS.take(pa.array(kind, mask=~present))
    return pc.binary_join_element_wise(names, operator, bound, end, "")


def _digits(numbers: Integers) -> pa.StringArray:
    return pa.array(numbers).cast(pa.string())
