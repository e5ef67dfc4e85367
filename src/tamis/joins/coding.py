"""Values as the floats that range indexes compare (model.py says what they mean)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tamis.joins.model import ABSENT, LOWEST, Floats
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain, Schema

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
