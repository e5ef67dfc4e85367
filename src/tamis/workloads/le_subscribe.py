"""The workload of Le Subscribe's figures (Fabret et al., P2 §4)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.workloads.workload import Workload, codes_as_strings, numbered, single_type

STRINGS = ("a1", "a2", "a3")
NUMBERS = ("b1", "b2", "b3")
NAMES = STRINGS + NUMBERS
SIZES = (200, 200, 200, 5000, 5000, 5000)
PRESENCE = 0.5

_ABSENT, _EQUAL, _LESS, _GREATER = range(4)
_OPERATORS = pa.array(["", " = ", " < ", " > "])


def le_subscribe(subscriptions: int, events: int, seed: int = 1, *, p: float = 0.5) -> Workload:
    """Six optional attributes, three of 200 strings and three of 5000 numbers, values uniform.

    A subscription names each attribute with probability one half, and at least one. On strings it asks for equality; on
    numbers for equality with probability `p`, else for less or greater, evenly. An event has each attribute with
    probability one half.
    """
    rng = np.random.default_rng(seed)
    texts = _texts(subscriptions, p, rng)
    values = [rng.integers(0, size, events) for size in SIZES]
    present = rng.random((events, len(NAMES))) < PRESENCE
    columns = {}
    for k, name in enumerate(NAMES):
        here = present[:, k]
        columns[name] = codes_as_strings(values[k], here) if name in STRINGS else pa.array(values[k], mask=~here)
    schema = single_type(dict.fromkeys(STRINGS, "string") | dict.fromkeys(NUMBERS, "integer"))
    return Workload("le_subscribe", schema, numbered(texts), pa.table(columns))


def _texts(count: int, p: float, rng: np.random.Generator) -> pa.StringArray:
    present = rng.random((count, len(NAMES))) < PRESENCE
    while (empty := ~present.any(axis=1)).any():
        present[empty] = rng.random((int(empty.sum()), len(NAMES))) < PRESENCE
    inequality = np.where(rng.random((count, len(NUMBERS))) < 0.5, _LESS, _GREATER)
    operator = np.full((count, len(NAMES)), _EQUAL)
    operator[:, len(STRINGS) :] = np.where(rng.random((count, len(NUMBERS))) < p, _EQUAL, inequality)
    terms = []
    for k, (name, size) in enumerate(zip(NAMES, SIZES, strict=True)):
        drawn = rng.integers(0, size, count)
        quote = "'" if name in STRINGS else ""
        value = codes_as_strings(drawn) if name in STRINGS else pa.array(drawn).cast(pa.string())
        sign = _OPERATORS.take(pa.array(operator[:, k], mask=~present[:, k]))
        terms.append(pc.binary_join_element_wise(name, sign, quote, value, quote, ""))
    return pc.binary_join_element_wise(*terms, " AND ", null_handling="skip")
