"""What variables are bound to, beside the matches: a list an event, as the ids are."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tamis.matching.matches import Matches
from tamis.operators.written import json_bindings
from tamis.pipeline.workers.lists import listed_by

Form = Literal["map", "json"]
"""A map from names to values as texts, which Spark casts; or a JSON object, which keeps what is a number."""

_TYPES: dict[Form, pa.DataType] = {"map": pa.map_(pa.string(), pa.string()), "json": pa.string()}


def binding_lists(matches: Matches, form: Form) -> pa.ListArray:
    """For each match what its variables are bound to; null where the filter has none."""
    bound = matches.bindings()
    places = np.full(len(matches), -1, np.int64)
    if bound:
        events = np.array([one.event for one in bound], np.int64)
        concerned = np.zeros(matches.events, np.bool_)
        concerned[events] = True
        rows = np.repeat(np.arange(matches.events), matches.counts)
        candidates = np.flatnonzero(concerned[rows])
        named = pa.array([one.subscription for one in bound], pa.string())
        ids = matches.ids(matches.numbers[candidates]).cast(pa.string())
        codes = np.asarray(pa.concat_arrays([ids, named]).dictionary_encode().indices, np.int64)
        width = int(codes.max()) + 1
        pairs = rows[candidates] * width + codes[: len(ids)]  # an event and a subscription: no pair comes twice
        order = np.argsort(pairs)
        found = order[np.searchsorted(pairs[order], events * width + codes[len(ids) :])]
        places[candidates[found]] = np.arange(len(bound))
    values = pa.array([_written(one.variables, form) for one in bound], _TYPES[form])
    return listed_by(matches.offsets, values.take(pa.array(places, mask=places < 0)))


def _written(variables: Any, form: Form) -> Any:
    if form == "json":
        return json.dumps(json_bindings(variables))
    return [(name, _text(value)) for name, value in variables.items()]


def _text(value: object) -> str:
    """As Spark reads it again."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else str(value)
