"""From a micro-batch's answer to the store: the events that matched, the pairs, and the dead letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import PipelineError
from tamis.pipeline.frames import BINDINGS, SUBSCRIPTIONS, VIOLATIONS
from tamis.service.matching.residuals import Residuals
from tamis.service.store import Reached, Store

RANK_BITS: Final = 24

Numbers = npt.NDArray[np.int64]

_EVENTS = pa.schema(
    [("position", pa.int64()), ("id", pa.string()), ("time", pa.timestamp("us", "UTC")), ("body", pa.string())]
)
_DEAD = ("offset", "id", "time", "body")


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a batch came to; `head` is the last position of all that are recorded."""

    head: int
    matches: int
    dead: int


class Recorder:
    """Puts answers into the store, each once: a batch that is there already is left as it is.

    The answer has the log's columns, `subscriptions` (texts of their numbers), perhaps `bindings` (JSON or null, beside
    each of these), and `violations`. An event's position is
    made of the batch's number and the event's rank in it, by partition and offset. Nothing here makes a Python object
    a match, except where a residual filter has to look at the event.
    """

    def __init__(self, store: Store, residuals: Residuals) -> None:
        self._store = store
        self._residuals = residuals
        self._head = store.notifications.head()

    def record(self, stream: str, batch: int, answer: pa.Table, reached: Reached | None = None) -> Recorded:
        """`reached`: where the batch ends on a log that others may go on with, which is recorded in any case."""
        if answer.num_rows >= 1 << RANK_BITS:
            raise PipelineError(
                f"batch {batch} has {answer.num_rows} events; at most {(1 << RANK_BITS) - 1} have a place"
            )
        ordered = answer.sort_by([("partition", "ascending"), ("offset", "ascending")]).combine_chunks()
        alive = pc.is_null(ordered[VIOLATIONS])
        matched, dead = ordered.filter(alive), ordered.filter(pc.invert(alive))
        events, pairs = self._matches(matched, batch << RANK_BITS)
        if pairs.num_rows or dead.num_rows or reached is not None:
            letters = _letters(dead) if dead.num_rows else None
            self._store.notifications.record(stream, batch, events, pairs, letters, reached)
        if pairs.num_rows:
            self._head = pairs["position"][-1].as_py()
        return Recorded(self._head, pairs.num_rows, dead.num_rows)

    def _matches(self, matched: pa.Table, first: int) -> tuple[pa.Table, pa.Table]:
        """The events with a match and the pairs."""
        lists = _column(matched, SUBSCRIPTIONS, pa.list_(pa.string()))
        counts = np.asarray(pc.list_value_length(lists), np.int64)
        rows = np.repeat(np.arange(matched.num_rows), counts)
        subscriptions = np.asarray(lists.flatten().cast(pa.int64()))
        pairs = pa.table({"position": pa.array(rows + first), "subscription": pa.array(subscriptions)})
        if BINDINGS in matched.column_names:
            bound = _column(matched, BINDINGS, pa.list_(pa.string())).flatten()
            if bound.null_count < len(bound):
                pairs = pairs.append_column(BINDINGS, bound)
        kept = self._residuals.hold(_column(matched, "body", pa.string()), rows, subscriptions)
        if kept is not None:
            rows, pairs = rows[kept], pairs.filter(pa.array(kept))
        told = np.unique(rows)
        events = matched.take(pa.array(told)).append_column("position", pa.array(told + first))
        return events.select(_EVENTS.names).cast(_EVENTS), pairs


def _letters(dead: pa.Table) -> pa.Table:
    """Dead letters with the messages of their violations as the reason."""
    violations = dead[VIOLATIONS].combine_chunks()
    messages = pc.struct_field(violations.flatten(), "message").cast(pa.string())
    lengths = np.asarray(pc.list_value_length(violations), np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]).astype(np.int32)
    reasons = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), messages), "; ")
    return dead.select(_DEAD).append_column("reason", reasons)


def _column(table: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    whole: pa.Array = table[name].cast(kind).combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
