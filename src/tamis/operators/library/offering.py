"""Support for the library's batch operators: inputs, answers in the form that a call asks for, settings and extras."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import OperatorError
from tamis.operators.registry import Operator, Var


class Found(NamedTuple):
    """Values found for one parameter, beside the call's argument there: a constant, or `Var`."""

    given: Any
    values: pa.Array


def each_value(column: pa.Array) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """Values of a column with the row of each: several per row where the attribute is multiple."""
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return np.arange(len(column)), column
    return pc.list_parent_indices(column).to_numpy().astype(np.int64), pc.list_flatten(column)


def answer(events: int, rows: npt.NDArray[np.int64], **columns: Found) -> pa.Array | pa.Table:
    """Answer of an operator: binding k was found in event `rows[k]`, with value k of each column.

    Bindings that differ from the call's constants are dropped. The result is a table of the variables with the column
    `row`, or, where the call has none, a mask of the events that have any binding.
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


# Operators made with settings: their choices and versions.


def with_choices(operator: Operator, parameter: str, choices: Sequence[str]) -> Operator:
    """Operator that takes only these strings there: a filter with another is refused when it is read."""
    formals = tuple(
        dataclasses.replace(formal, parameter=dataclasses.replace(formal.parameter, choices=tuple(choices)))
        if formal.parameter.name == parameter
        else formal
        for formal in operator.formals
    )
    return dataclasses.replace(operator, formals=formals)


def version_of(settings: object) -> str:
    """Version that tells these settings from others by their `repr`, under the version of the code."""
    return "1." + hashlib.blake2b(repr(settings).encode(), digest_size=8).hexdigest()


# Libraries that Tamis does not install by itself.


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Context around imports: where one is missing, its error says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = str(error.name).partition(".")[0]
        raise OperatorError(f"{library} is not installed; install it: pip install 'tamis[{name}]'") from error
