"""What a batch operator is given, and what it has found in the form that its call asks for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.operators.definition import Var


class Found(NamedTuple):
    """The values found for one parameter, beside what the call has there: a constant, or `Var`."""

    given: Any
    values: pa.Array


def each_value(column: pa.Array) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """The values of a column with the row of each: several a row where the attribute is multiple."""
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return np.arange(len(column)), column
    return pc.list_parent_indices(column).to_numpy().astype(np.int64), pc.list_flatten(column)


def answer(events: int, rows: npt.NDArray[np.int64], **columns: Found) -> pa.Array | pa.Table:
    """Binding k was found in event `rows[k]`, with value k of each column.

    Bindings that differ from the call's constants are dropped. What is left is a table of the variables with the
    column `row`, or, where the call has none, whether there is any for each of so many events.
    """
    kept = np.ones(len(rows), np.bool_)
    for found in columns.values():
        if found.given is not Var:
            kept &= pc.equal(found.values, found.given).fill_null(False).to_numpy(zero_copy_only=False)
    variables = {name: found.values for name, found in columns.items() if found.given is Var}
    if variables:
        return pa.table({"row": pa.array(rows), **variables}).filter(pa.array(kept))
    truth = np.zeros(events, np.bool_)
    truth[rows[kept]] = True
    return pa.array(truth)
