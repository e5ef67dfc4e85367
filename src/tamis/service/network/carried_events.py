"""Events between the log and the network: on the log they are texts, in the network rows of a batch."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis.broker.carrying import Delivered
from tamis.schema import Schema
from tamis.service.base.event_body import published_text
from tamis.service.intake.arrow_rows import row_text
from tamis.service.intake.door import judge

ID: Final = "tamis.id"
BODY: Final = "tamis.body"
_FROM_OTHERS: Final = "via:"
_ANY_SIZE: Final = 1 << 62


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
    kept += [(ID, ids.take(checked.valid_rows)), (BODY, _published(bodies.take(checked.valid_rows)))]
    return pa.RecordBatch.from_arrays([column for _, column in kept], [name for name, _ in kept])


def bodies_of(events: pa.Array, schema: Schema) -> pa.Array:
    """Bodies for the log. What this service's schema has no attribute for was no fault where it was published.

    An event that does not fit for another reason stays as it is: matching makes it a dead letter.
    """
    judged = judge(schema, events, ignore_unknown=True, event_bytes=_ANY_SIZE)
    bodies = events.to_pylist()
    for row, body in zip(judged.rows.to_pylist(), judged.bodies.to_pylist(), strict=True):
        bodies[row] = body
    return pa.array(bodies, pa.string())


def _published(bodies: pa.Array) -> pa.Array:
    return pa.array(map(published_text, bodies.to_pylist()), pa.string())


def incoming(delivered: Delivered) -> tuple[pa.Array, pa.Array]:
    """Ids and events as they were published. An id says where an event came in, so that it does not go out again."""
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
