"""Bulky values of events, taken out so that they can travel by name, and put back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.broker.encoding import MessageError
from tamis.routing.payloads import payload_id

PLACES: Final = "tamis:payloads"
_PLACE: Final = pa.struct([("attribute", pa.string()), ("id", pa.binary())])
_BULKY: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


@dataclass(frozen=True, slots=True)
class Taken:
    """Events without their bulky values, and these by their names. Where they were is in a column beside the events."""

    events: pa.RecordBatch
    contents: dict[bytes, bytes]


def take_out(events: pa.RecordBatch, least: int, most: int) -> Taken:
    """Takes out texts and bytes of so many bytes at least, and at most; equal ones are one."""
    contents: dict[bytes, bytes] = {}
    places: list[list[dict[str, object]]] = [[] for _ in range(events.num_rows)]
    columns = list(events.columns)
    for number, (name, column) in enumerate(zip(events.schema.names, events.columns, strict=True)):
        if not any(is_kind(column.type) for is_kind in _BULKY):
            continue
        lengths = np.asarray(pc.fill_null(pc.binary_length(column), 0))
        bulky = (lengths >= least) & (lengths <= most)
        if not bulky.any():
            continue
        for row in np.flatnonzero(bulky).tolist():
            value = column[row].as_py()
            content = value.encode() if isinstance(value, str) else value
            id = payload_id(content)
            contents[id] = content
            places[row].append({"attribute": name, "id": id})
        # Not if_else: it leaves the bytes where they were, under a null.
        columns[number] = pc.replace_with_mask(column, pa.array(bulky), pa.scalar(None, column.type))
    if not contents:
        return Taken(events, {})
    made = [*columns, pa.array(places, pa.list_(_PLACE))]
    return Taken(pa.RecordBatch.from_arrays(made, [*events.schema.names, PLACES]), contents)


def put_back(events: pa.RecordBatch, contents: Mapping[bytes, bytes]) -> pa.RecordBatch:
    """The events as they were; MessageError if what says where values were makes no sense."""
    names = events.schema.names
    if PLACES not in names:
        return events
    places = events.column(names.index(PLACES))
    if places.type != pa.list_(_PLACE):
        raise MessageError("the events of this message do not say where their values belong")
    columns = {name: events.column(place) for place, name in enumerate(names) if name != PLACES}
    values: dict[str, dict[int, bytes]] = {}
    for row, found in enumerate(places.to_pylist()):
        for place in found or ():
            if place["attribute"] not in columns or place["id"] not in contents:
                raise MessageError("the events of this message lack a value")
            values.setdefault(place["attribute"], {})[row] = contents[place["id"]]
    for name, rows in values.items():
        kind = columns[name].type
        if not any(is_kind(kind) for is_kind in _BULKY):
            raise MessageError(f"{name!r} holds no texts or bytes")
        try:
            put = pa.array([rows.get(row) for row in range(events.num_rows)], pa.large_binary()).cast(kind)
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise MessageError(f"a value of {name!r} is no {kind}: {error}") from error
        columns[name] = pc.coalesce(put, columns[name])
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
