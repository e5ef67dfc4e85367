"""Recording of a micro-batch in the store: matching events, pairs and dead letters, after residual filters are
evaluated.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int64s
from tamis.dialects.cloudevents_filters import CloudEventsFilters
from tamis.errors import PipelineError
from tamis.matchlog import Segment, without
from tamis.matchlog.runs import bitmap_of
from tamis.pipeline.frames import BINDINGS, SUBSCRIPTIONS, VIOLATIONS
from tamis.pipeline.workers.packing import SEGMENT, SEGMENT_FILE
from tamis.service.base.events import published_event, published_text
from tamis.service.store import Reached, Store
from tamis.service.store.segments import Prepared
from tamis.service.worker.joining import TABLES, Joining, Step
from tamis.service.worker.suspending import Fairness

# Residual filters: of subscriptions whose filter the index holds only in part.

_LARGE: Final = 4_096  # bytes of an event from which on a look at it is worth timing
_TICK: Final = 0.2  # seconds untold


class Residuals:
    """Residual filters of subscriptions, read from the store when a subscription first matches.

    `_known` has the subscriptions that have matched since they last changed: their filter, or None if it leaves
    nothing over. Any thread may call.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, CloudEventsFilters | None] = {}
        self._all: Int64s | None = None
        self._changed: set[int] = set()
        self._lock = threading.Lock()

    def forget(self, numbers: Iterable[int]) -> None:
        """Forgets changed subscriptions."""
        with self._lock:
            for number in numbers:
                self._known.pop(number, None)
                if self._all is not None:
                    self._changed.add(number)

    def numbers(self) -> Int64s:
        """Subscriptions that leave something over, ascending."""
        with self._lock:
            if self._all is None:
                self._all = np.array(self._store.subscriptions.with_residuals(), np.int64)
                self._changed.clear()
            elif self._changed:
                changed = np.array(sorted(self._changed), np.int64)
                now = self._store.subscriptions.with_residuals(changed.tolist())
                self._all = np.union1d(np.setdiff1d(self._all, changed), np.array(now, np.int64))
                self._changed.clear()
            return self._all

    def hold(
        self, bodies: pa.Array, rows: Int64s, subscriptions: Int64s, fairness: Fairness | None = None
    ) -> npt.NDArray[np.bool_] | None:
        """Mask of the pairs, of an event's row and a subscription, that are matches; None if all are.

        What a look at a large event takes is charged, and whoever is suspended meanwhile is not looked at any more.
        """
        filters = self._of(np.unique(subscriptions).tolist())
        if not filters:
            return None
        kept = np.ones(len(rows), np.bool_)
        contexts: dict[int, Any] = {}
        untold: dict[int, float] = {}
        left_out: frozenset[int] = frozenset()
        for pair in np.flatnonzero(np.isin(subscriptions, list(filters))).tolist():
            row = int(rows[pair])
            if row not in contexts:
                contexts[row] = published_event(bodies[row].as_py()).get("ce")
            context, number = contexts[row], int(subscriptions[pair])
            if fairness is None or len(bodies[row].as_buffer()) < _LARGE:
                kept[pair] = isinstance(context, dict) and filters[number].holds(context)
                continue
            if number in left_out:
                kept[pair] = False
                continue
            began = time.thread_time()
            kept[pair] = isinstance(context, dict) and filters[number].holds(context)
            untold[number] = untold.get(number, 0.0) + time.thread_time() - began
            if sum(untold.values()) > _TICK:
                left_out = fairness.charge(untold)
                untold = {}
        if fairness is not None and untold:
            fairness.charge(untold)
        return kept

    def _of(self, numbers: Sequence[int]) -> dict[int, CloudEventsFilters]:
        """Residual filters of the subscriptions that have one."""
        with self._lock:
            known = self._known
            unknown = [number for number in numbers if number not in known]
            if unknown:
                found = self._store.subscriptions.by_number(unknown)
                for number in unknown:
                    text = found[number].residual if number in found else None
                    known[number] = None if text is None else CloudEventsFilters.from_json(text)
            return {number: filter for number in numbers if (filter := known[number]) is not None}


RANK_BITS: Final = 24


_EVENTS = pa.schema(
    [("position", pa.int64()), ("id", pa.string()), ("time", pa.timestamp("us", "UTC")), ("body", pa.string())]
)
_NO_EVENTS = _EVENTS.empty_table()
_NO_PAIRS = pa.table({"position": pa.array([], pa.int64()), "subscription": pa.array([], pa.int64())})
_DEAD = ("offset", "id", "time", "body")


@dataclass(frozen=True, slots=True)
class Recorded:
    """Result of recording a batch; `head` is the last recorded position."""

    head: int
    matches: int
    dead: int


class Recorder:
    """Records answers in the store, each once: a batch that is recorded already is skipped.

    The answer has the log's columns, `subscriptions` (texts of their numbers), perhaps `bindings` (JSON or null, beside
    each of these), and `violations`. An event's position is
    made of the batch's number and the event's rank in it, by partition and offset. Nothing here makes a Python object
    a match, except where a residual filter has to look at the event, and for the results of joins.

    Nothing is recorded of subscriptions that were suspended while the batch was matched. What is matched by `TABLES`
    changes a table; what that does to joins is part of the same transaction.
    """

    def __init__(
        self, store: Store, residuals: Residuals, joining: Joining | None = None, fairness: Fairness | None = None
    ) -> None:
        self._store = store
        self._residuals = residuals
        self._joining = joining
        self._fairness = fairness
        self._head = store.notifications.head()

    def record(self, stream: str, batch: int, answer: pa.Table, reached: Reached | None = None) -> Recorded:
        """Records a batch. `reached`: its end on a shared log, recorded in any case."""
        if answer.num_rows >= 1 << RANK_BITS:
            raise PipelineError(
                f"batch {batch} has {answer.num_rows} events; at most {(1 << RANK_BITS) - 1} have a place"
            )
        if SEGMENT in answer.column_names:
            return self._record_segments(stream, batch, answer, reached)
        ordered = answer.sort_by([("partition", "ascending"), ("offset", "ascending")]).combine_chunks()
        alive = pc.is_null(ordered[VIOLATIONS])
        matched, dead = ordered.filter(alive), ordered.filter(pc.invert(alive))
        letters = _letters(dead) if dead.num_rows else None
        rows, pairs, changing = self._matches(matched, batch << RANK_BITS)
        with self._joined(stream, batch, matched, changing) as step:
            if step.pairs.num_rows:
                pairs = pa.concat_tables([pairs, step.pairs], promote_options="default").sort_by("position")
                rows = np.union1d(rows, np.asarray(step.pairs["position"]) - (batch << RANK_BITS))
            if step.refused:
                letters = _together(letters, _refusals(matched.take(pa.array(changing)), step.refused))
            count = 0 if letters is None else letters.num_rows
            if pairs.num_rows or count or reached is not None or step.writes:
                events = _events(matched, rows, batch << RANK_BITS)
                self._store.notifications.record(stream, batch, events, pairs, letters, reached, step.writes)
        if pairs.num_rows:
            self._head = pairs["position"][-1].as_py()
        return Recorded(self._head, pairs.num_rows, count)

    def _record_segments(self, stream: str, batch: int, answer: pa.Table, reached: Reached | None) -> Recorded:
        """Records what workers have packed, but for pairs that a residual refuses, and those of suspended ones."""
        segments = self._store.notifications.segments
        packed = pc.or_(pc.is_valid(answer[SEGMENT]), pc.is_valid(answer[SEGMENT_FILE]))
        dead = answer.filter(pc.invert(packed)).drop_columns([SEGMENT, SEGMENT_FILE])
        letters = _letters(dead.sort_by([("partition", "ascending"), ("offset", "ascending")])) if len(dead) else None
        its = answer.filter(packed)
        made: list[Prepared] = []
        for name, data in zip(its[SEGMENT_FILE].to_pylist(), its[SEGMENT].to_pylist(), strict=True):
            prepared, segment = segments.adopt(name, data)
            ranks, numbers = self._refused(segment)
            if len(ranks):
                segments.discard(prepared)
                rest = without(segment, ranks, numbers)
                if rest is None:
                    continue
                prepared = segments.prepare(rest)
            made.append(prepared)
        made.sort(key=lambda one: one.named.first)
        if made or letters is not None or reached is not None:
            notifications = self._store.notifications
            notifications.record(stream, batch, _NO_EVENTS, _NO_PAIRS, letters, reached, made=made)
        if made:
            self._head = made[-1].named.last
        return Recorded(self._head, sum(one.named.pairs for one in made), 0 if letters is None else letters.num_rows)

    def _refused(self, segment: Segment) -> tuple[Int64s, Int64s]:
        """Pairs of a segment that are not to be recorded."""
        left_out = sorted(self._fairness.left_out()) if self._fairness is not None else []
        gone = np.array(left_out, np.int64)
        ranks, numbers, _ = segment.pairs_of(gone, bitmap_of(gone), (0, segment.events), segment.pairs + 1)
        looked_at = self._residuals.numbers()
        if len(looked_at):
            some, its, _ = segment.pairs_of(looked_at, bitmap_of(looked_at), (0, segment.events), segment.pairs + 1)
            events, rows = np.unique(some, return_inverse=True)
            bodies = pa.array([body for _, _, body in segment.told(events)], pa.string())
            kept = self._residuals.hold(bodies, rows, its, self._fairness)
            if kept is not None:
                ranks, numbers = np.append(ranks, some[~kept]), np.append(numbers, its[~kept])
        return ranks, numbers

    def _joined(self, stream: str, batch: int, matched: pa.Table, changing: Int64s) -> AbstractContextManager[Step]:
        """Step of the joins for events that change tables; nothing if it has been made already."""
        joining = self._joining
        if joining is None or not len(changing) or self._store.notifications.has(stream, batch):
            return nullcontext(Step())
        joining.settle()
        bodies = _column(matched, "body", pa.string()).take(pa.array(changing))
        return joining.step(bodies, changing + (batch << RANK_BITS))

    def _matches(self, matched: pa.Table, first: int) -> tuple[Int64s, pa.Table, Int64s]:
        """Rows of events with a match, the pairs, and the rows of events that change tables."""
        lists = _column(matched, SUBSCRIPTIONS, pa.list_(pa.string()))
        counts = np.asarray(pc.list_value_length(lists), np.int64)
        rows = np.repeat(np.arange(matched.num_rows), counts)
        subscriptions = np.asarray(lists.flatten().cast(pa.int64()))
        others = subscriptions != TABLES
        changing = rows[~others]
        pairs = pa.table({"position": pa.array(rows + first), "subscription": pa.array(subscriptions)})
        if BINDINGS in matched.column_names:
            bound = _column(matched, BINDINGS, pa.list_(pa.string())).flatten()
            if bound.null_count < len(bound):
                pairs = pairs.append_column(BINDINGS, bound)
        if len(changing):
            rows, subscriptions, pairs = rows[others], subscriptions[others], pairs.filter(pa.array(others))
        kept = self._residuals.hold(_column(matched, "body", pa.string()), rows, subscriptions, self._fairness)
        if kept is not None:
            rows, subscriptions, pairs = rows[kept], subscriptions[kept], pairs.filter(pa.array(kept))
        if self._fairness is not None and (left_out := self._fairness.left_out()):
            kept = ~np.isin(subscriptions, sorted(left_out))
            rows, pairs = rows[kept], pairs.filter(pa.array(kept))
        return np.unique(rows), pairs, changing


def _events(matched: pa.Table, rows: Int64s, first: int) -> pa.Table:
    events = matched.take(pa.array(rows)).append_column("position", pa.array(rows + first))
    return events.select(_EVENTS.names).cast(_EVENTS)


def _refusals(changing: pa.Table, refused: dict[int, str]) -> pa.Table:
    """Dead letters of changes that their table could not take."""
    letters = _as_published(changing.take(pa.array(list(refused), pa.int64())).select(_DEAD))
    return letters.append_column("reason", pa.array(list(refused.values()), pa.string()))


def _together(letters: pa.Table | None, more: pa.Table) -> pa.Table:
    return more if letters is None else pa.concat_tables([letters, more.cast(letters.schema)])


def _letters(dead: pa.Table) -> pa.Table:
    """Dead letters with the messages of their violations as the reason."""
    violations = dead[VIOLATIONS].combine_chunks()
    messages = pc.struct_field(violations.flatten(), "message").cast(pa.string())
    lengths = np.asarray(pc.list_value_length(violations), np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]).astype(np.int32)
    reasons = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), messages), "; ")
    return _as_published(dead.select(_DEAD)).append_column("reason", reasons)


def _as_published(letters: pa.Table) -> pa.Table:
    bodies = [None if body is None else published_text(body) for body in letters["body"].to_pylist()]
    return letters.set_column(_DEAD.index("body"), letters.schema.field("body"), pa.array(bodies, pa.string()))


def _column(table: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    whole: pa.Array = table[name].cast(kind).combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
