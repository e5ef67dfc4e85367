"""Events between the log and the network: on the log they are texts, in the network rows of a batch."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis.broker.delivered import Delivered
from tamis.schema import Schema
from tamis.service.api.publishing.arrow_rows import row_text

ID: Final = "tamis.id"
BODY: Final = "tamis.body"
_FROM_OTHERS: Final = "via:"


def network_schema(schema: Schema) -> Schema:
    """The serving schema, and on every event type the event as it was published: what services carry to each other."""
    added = {name: "string" for name in (ID, BODY) if name not in schema.attributes}
    optional = {
        kind.name: {name: "optional" for name in (ID, BODY) if name not in kind.annotations}
        for kind in schema.event_types.values()
    }
    return schema.extend(attributes=added, optional=optional) if added else schema


def outgoing(schema: Schema, records: pa.RecordBatch) -> pa.RecordBatch:
    """Records of the log as a batch for the network, without those that came from there."""
    columns = dict(zip(records.schema.names, records.columns, strict=True))
    own = pc.invert(pc.starts_with(columns["id"], _FROM_OTHERS))
    ids, bodies = columns["id"].filter(own), columns["body"].filter(own)
    checked = schema.check_json(bodies, ignore_unknown=True)
    events = checked.valid
    kept = [
        (name, column)
        for name, column in zip(events.schema.names, events.columns, strict=True)
        if name not in (ID, BODY)
    ]
    kept += [(ID, ids.take(checked.valid_rows)), (BODY, bodies.take(checked.valid_rows))]
    return pa.RecordBatch.from_arrays([column for _, column in kept], [name for name, _ in kept])


def incoming(delivered: Delivered) -> tuple[pa.Array, pa.Array]:
    """Ids and bodies for the log. An id says where the event came in, so that it does not go out again."""
    events, names = delivered.events, delivered.events.schema.names
    count = events.num_rows
    nothing = pa.nulls(count, pa.string())
    given = events.column(names.index(ID)).cast(pa.string()) if ID in names else nothing
    texts = events.column(names.index(BODY)).cast(pa.string()) if BODY in names else nothing
    if texts.null_count:  # published at a broker, not at a service
        bare = events.select([name for name in names if name not in (ID, BODY)])
        texts = pc.coalesce(texts, pa.array([row_text(row) for row in bare.to_pylist()], pa.string()))
    if given.null_count:
        drawn = [f"{delivered.epoch}-{delivered.number}-{row}" for row in delivered.rows.to_pylist()]
        given = pc.coalesce(given, pa.array(drawn, pa.string()))
    origin = re.sub(r"[^!-~]", "?", delivered.origin)
    return pc.binary_join_element_wise(f"{_FROM_OTHERS}{origin}:", given, ""), texts
