"""Literals of one slot, over all texts of a shape, as a column in their attribute's type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.language.cutting import Cutting, Rows
from tamis.language.kernels import INTEGER
from tamis.language.limits import Limits
from tamis.language.numbers import INT_MAX, INT_MIN
from tamis.language.patterns import like_fault, rlike_fault
from tamis.language.templates import Reading
from tamis.language.timestamps import read_timestamp
from tamis.schema import EnumeratedDomain, HierarchicalDomain

Column: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64] | pa.StringArray
Fits: TypeAlias = npt.NDArray[np.bool_] | None
"""Which rows a template holds for; None for all of them."""

_EXACT = 1 << 53


def read_column(reading: Reading, cutting: Cutting, literals: Rows, limits: Limits) -> tuple[Column, Fits]:
    """The slot's values, and which of them are what the attribute can be compared with as they stand.

    A row that does not fit is parsed by itself, which finds the comparison it comes down to, or the error.
    """
    match reading.attribute.domain.kind:
        case "integer":
            return _stepped(reading, *cutting.integers(literals))
        case "float":
            return _floats(reading, cutting, literals)
        case "timestamp":
            return _timestamps(reading, cutting.texts(literals))
    texts = cutting.texts(literals)
    domain = reading.attribute.domain
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        return texts, _some(pc.is_in(texts, value_set=pa.array(domain.values, pa.string())))
    if reading.role == "value":
        return texts, None
    fault = like_fault if reading.role == "like" else rlike_fault
    return texts, _each(texts, lambda pattern: fault(pattern, limits) is None)


def _stepped(reading: Reading, values: npt.NDArray[np.int64], fits: npt.NDArray[np.bool_]) -> tuple[Column, Fits]:
    if reading.negative:
        values = -values
    if reading.step:
        fits = fits & (values != (INT_MAX if reading.step > 0 else INT_MIN))
        values = values + reading.step
    return values, None if fits.all() else fits


def _floats(reading: Reading, cutting: Cutting, literals: Rows) -> tuple[Column, Fits]:
    if reading.kind == INTEGER:
        whole, fits = cutting.integers(literals)
        fits &= whole <= _EXACT
        values = whole.astype(np.float64)
    else:
        values = cutting.texts(literals).cast(pa.float64()).to_numpy(zero_copy_only=False)
        fits = np.isfinite(values)
    # Adding zero turns a negative zero into zero, of which there is one in a filter.
    return (-values if reading.negative else values) + 0.0, None if fits.all() else fits


def _timestamps(reading: Reading, texts: pa.StringArray) -> tuple[Column, Fits]:
    coded = texts.dictionary_encode()
    moments = [read_timestamp(text) for text in coded.dictionary.to_pylist()]
    codes = coded.indices.to_numpy(zero_copy_only=False)
    values = np.array([moment or 0 for moment in moments], np.int64)[codes]
    return _stepped(reading, values, np.array([moment is not None for moment in moments], np.bool_)[codes])


def _each(texts: pa.StringArray, accepts: Callable[[str], bool]) -> Fits:
    coded = texts.dictionary_encode()
    accepted = np.array([accepts(text) for text in coded.dictionary.to_pylist()], np.bool_)
    return None if accepted.all() else accepted[coded.indices.to_numpy(zero_copy_only=False)]


def _some(mask: Any) -> Fits:
    fits: npt.NDArray[np.bool_] = mask.to_numpy(zero_copy_only=False)
    return None if fits.all() else fits
