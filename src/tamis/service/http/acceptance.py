"""Acceptance of a publish: checks the body, deduplicates by idempotency key, and appends the events to the log."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pyarrow as pa
from anyio import CancelScope, CapacityLimiter, to_thread

from tamis.eventlog import IdempotencyConflict, NotAppended, Receipt
from tamis.eventlog.base.event_log import KEPT_FOR, content_hash
from tamis.schema import Schema
from tamis.service.base.offering import serving_schema
from tamis.service.http.access import Caller
from tamis.service.http.service import Service
from tamis.service.intake import door as formats
from tamis.service.intake.door import Incoming, Judged, judge
from tamis.service.intake.problems import Fault, Problem
from tamis.service.store import StoreError
from tamis.service.store.delivery_state import letter_row

_SHOWN: Final = 20
_ID_PREFIX: Final = b"evt_"
_ID_BYTES: Final = 16
_KEPT_LETTERS: Final = 1_000  # of one request: more would be many times the same mistake
_KEPT_BODY: Final = 64 << 10
_SMALL_BODY: Final = 4 << 10
# Checks use a core each; more at once would only delay each other.
_CHECKS: Final = 4
_PATIENCE: Final = 3.0  # seconds in which the log takes a publish, and so much more for each event
_EVENT_PATIENCE: Final = 0.000_25
# Seconds that the log, and a publish in all, may take at most, however many events. The log has at least one.
_LONGEST_PATIENCE: Final = 4.0
_PATIENCE_IN_ALL: Final = 4.4
_LEAST_PATIENCE: Final = 1.0
_EARLIER: Final = 32  # versions of the schema by which a repeat may have been judged
_NOTHING: Final = pa.array([], pa.string())
_SOON: Final = {"Retry-After": "1"}
_ITS_TURN: Final = "events are being published under this idempotency key, and are not yet on the log; try again"
_NO_WORD: Final = (
    "the event log has not acknowledged the events, and may take them yet: published again under an Idempotency-Key, "
    "the same as before, they do not come twice"
)
# Seconds between two attempts to take one's turn.
_FIRST_LOOK: Final = 0.01
_LATER_LOOKS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Accepted:
    """Result of a publish: `first` is the log's number of the first accepted event, `refused` is by place in the
    request.

    `ids` has the events' ids in order, None for those refused. `ignored` are the unknown attributes of those accepted,
    with the number of events.
    """

    count: int
    first: int
    repeated: bool
    refused: dict[int, str]
    ids: list[str | None]
    ignored: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Attempt:
    """Attempt to append: flags if the log has the events, and if their publisher was answered without it."""

    ids: pa.Array
    bodies: pa.Array
    key: str | None
    content: pa.Array
    is_begun: bool = False
    is_given_up: bool = False


@dataclass(frozen=True, slots=True)
class _Publish:
    """Events of a request, judged by a version of the schema; of those accepted, `ids` and `texts` as they came."""

    version: int
    incoming: Incoming
    judged: Judged
    ids: pa.Array
    texts: pa.Array


class Acceptance:
    """Accepts publishes for a service. One per application."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._checks = CapacityLimiter(_CHECKS)
        self._appending: set[asyncio.Task[Receipt]] = set()

    async def publish(
        self, headers: Mapping[str, str], body: bytes, caller: Caller, key: str | None = None
    ) -> Accepted:
        """Appends the events that fit the schema to the log; returns when they are durable.

        A `Problem` if the body cannot be read, or none of its events is accepted.
        """
        service, until = self._service, time.monotonic() + _PATIENCE_IN_ALL
        # Keys are of their owner: what another published under the same one is another thing.
        scoped = None if key is None else f"{caller.owner}\0{key}"
        read = await self._read(headers, body, scoped)
        count = len(read.incoming.texts)
        service.metrics.published.inc(count)
        service.metrics.refused.inc(len(read.judged.reasons))
        service.meter.count("published", count)
        service.meter.count("refused", len(read.judged.reasons))
        try:
            if not len(read.judged.rows):
                raise _nothing_left(read.judged)
            bodies = read.judged.bodies.cast(pa.string())
            receipt = await self._append(_Attempt(read.ids, bodies, scoped, read.texts), until)
        except (IdempotencyConflict, _NothingLeft):
            known = None if scoped is None else await self._known(headers, body, scoped, read, until)
            if known is None:
                raise
            read, receipt = known
        incoming, judged, ids = read.incoming, read.judged, read.ids
        if judged.reasons and not receipt.repeated:
            await to_thread.run_sync(self._keep_refused, incoming, judged, caller)
        if receipt.repeated:
            service.metrics.repeated.inc(receipt.count)
        else:
            service.metrics.accepted.inc(receipt.count)
            service.metrics.ignored.inc(judged.ignored.total())
            service.meter.accepted(receipt.first + receipt.count, receipt.partition)
        placed = _placed(ids, judged, count) if judged.reasons else ids.to_pylist()
        return Accepted(receipt.count, receipt.first, receipt.repeated, judged.reasons, placed, judged.ignored)

    async def _read(self, headers: Mapping[str, str], body: bytes, key: str | None) -> _Publish:
        """Events, judged by the newest schema that any service of the store has."""
        followed = self._service.followed
        # A small body is done with sooner than a thread is woken.
        small = len(body) <= _SMALL_BODY
        looked_again = False
        while True:
            read = (
                self._judged(headers, body, key, *followed.serving)
                if small
                else await to_thread.run_sync(self._judged, headers, body, key, *followed.serving, limiter=self._checks)
            )
            judged = read.judged
            # An extension only adds: where nothing is amiss by an older schema, nothing is by a newer one.
            if looked_again or not (judged.reasons or judged.ignored) or not await to_thread.run_sync(self._has_grown):
                return read
            looked_again = True

    def _judged(
        self, headers: Mapping[str, str], body: bytes, key: str | None, version: int, schema: Schema
    ) -> _Publish:
        service, limits = self._service, self._service.limits
        incoming = formats.read(headers, body, limits.events, limits.body_bytes, schema.event_types)
        ignores = service.ignores_unknown(version)
        judged = judge(
            schema, incoming.texts, ignore_unknown=ignores, event_bytes=limits.event_bytes, faults=incoming.faults
        )
        # Without a schema of the user's no attribute is unknown.
        if not version:
            judged = replace(judged, ignored=Counter())
        ids, texts = incoming.ids, incoming.texts
        if judged.reasons:
            ids, texts = None if ids is None else ids.take(judged.rows), texts.take(judged.rows)
        texts = texts.cast(pa.string())
        if ids is None:
            # By what the log knows a repeat by, so that one has the same ids however its body is written.
            ids = event_ids(os.urandom(_ID_BYTES * len(texts))) if key is None else repeatable_ids(key, texts)
        return _Publish(version, incoming, judged, ids, texts)

    async def _known(
        self, headers: Mapping[str, str], body: bytes, key: str, read: _Publish, until: float
    ) -> tuple[_Publish, Receipt] | None:
        """Earlier publish of this body under the key; None if the key is new, or stands for another body.

        The schema may have grown since, and another part of the events be accepted by now. What was accepted then is
        found by judging them as it was done then: by each version that was in force while the log remembers keys.
        """
        tried = {content_hash(read.texts)}
        for version, schema in await to_thread.run_sync(self._earlier, read.version):
            try:
                then = await to_thread.run_sync(self._judged, headers, body, key, version, schema, limiter=self._checks)
            except Problem:
                continue
            if not len(then.texts) or (content := content_hash(then.texts)) in tried:
                continue
            tried.add(content)
            with suppress(IdempotencyConflict):
                receipt = await self._append(_Attempt(_NOTHING, _NOTHING, key, then.texts), until)
                return (then, receipt) if receipt.repeated else None
        return None

    def _earlier(self, but: int) -> list[tuple[int, Schema]]:
        """Earlier schema versions that were in force while the log remembers keys, newest first."""
        found = self._service.store.schemas.earlier(datetime.now(UTC) - KEPT_FOR)[:_EARLIER]
        return [
            (version, serving_schema(None if form is None else Schema.from_dict(form)))
            for version, form in found
            if version != but
        ]

    def _has_grown(self) -> bool:
        """True if another service has extended the schema since it was last looked at."""
        try:
            return self._service.followed.refresh()
        except StoreError:
            return False

    async def _append(self, attempt: _Attempt, until: float) -> Receipt:
        """Receipt of the log; a `Problem` if the log does not answer in time.

        An append cannot be taken back then. It goes on, and keeps its turn: who publishes the same events again under
        the same key is told what has become of them, and no other service begins them anew.
        """
        appending = asyncio.create_task(self._in_turn(attempt))
        self._appending.add(appending)
        appending.add_done_callback(self._ended)
        patience = min(_PATIENCE + _EVENT_PATIENCE * len(attempt.ids), _LONGEST_PATIENCE)
        left = max(until - time.monotonic(), _LEAST_PATIENCE)
        done, _ = await asyncio.wait({appending}, timeout=min(patience, left))
        if done:
            return appending.result()
        attempt.is_given_up = True
        if not attempt.is_begun:
            raise Problem(503, "unavailable", _ITS_TURN, headers=_SOON)
        self._service.log_failed = time.monotonic()
        raise Problem(503, "unavailable", _NO_WORD, headers=_SOON)

    async def _in_turn(self, attempt: _Attempt) -> Receipt:
        service, began = self._service, time.monotonic()
        try:
            async with nullcontext() if attempt.key is None or service.log.shared is None else self._turn(attempt):
                attempt.is_begun = True
                receipt = await service.log.append(
                    attempt.ids, attempt.bodies, key=attempt.key, content=attempt.content
                )
        except NotAppended:
            # Where it has taken others since, it is well.
            if service.log_took < began:
                service.log_failed = time.monotonic()
            raise
        service.log_failed, service.log_took = None, time.monotonic()
        return receipt

    def _ended(self, appending: asyncio.Task[Receipt]) -> None:
        self._appending.discard(appending)
        if not appending.cancelled():
            # Perhaps nobody waits for it any more.
            appending.exception()

    @asynccontextmanager
    async def _turn(self, attempt: _Attempt) -> AsyncIterator[None]:
        """Lock per idempotency key, across all services: one at a time looks the key up in the log, and appends.

        Else a publisher that gets no answer in time, and tries again at another service while the first still appends,
        would publish twice. A service that dies has no turn any more: what it has not appended, the next one appends.
        """
        lock = self._service.store.lock(f"publishing {attempt.key}")
        pause = _FIRST_LOOK
        try:
            while not await to_thread.run_sync(lock.hold):
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LATER_LOOKS)
                if attempt.is_given_up:
                    break
            if attempt.is_given_up:
                raise NotAppended("its turn came too late")
            yield
        finally:
            with CancelScope(shield=True):
                await to_thread.run_sync(lock.release)

    def _keep_refused(self, incoming: Incoming, judged: Judged, caller: Caller) -> None:
        now = datetime.now(UTC)
        rows = list(judged.reasons.items())[:_KEPT_LETTERS]
        letters = [
            letter_row(
                "event",
                incoming.ids[row].as_py() if incoming.ids is not None else "",
                caller.owner,
                reason,
                incoming.texts[row].as_py()[:_KEPT_BODY],
                {"index": row},
                now,
            )
            for row, reason in rows
        ]
        self._service.store.dead_letters.add_all(letters)


def event_ids(drawn: bytes) -> pa.Array:
    """Ids for events whose publisher gave none: `evt_` and 32 hexadecimal digits, from 16 random bytes each."""
    count, width = len(drawn) // _ID_BYTES, len(_ID_PREFIX) + 2 * _ID_BYTES
    letters = np.empty((count, width), np.uint8)
    letters[:, : len(_ID_PREFIX)] = np.frombuffer(_ID_PREFIX, np.uint8)
    letters[:, len(_ID_PREFIX) :] = np.frombuffer(drawn.hex().encode(), np.uint8).reshape(count, 2 * _ID_BYTES)
    offsets = np.arange(count + 1, dtype=np.int32) * width
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(letters))


def repeatable_ids(key: str, bodies: pa.Array) -> pa.Array:
    """Ids that are a function of an idempotency key, its events, and each one's place.

    The key alone would not do: it is forgotten after a while, and may then stand for other events.
    """
    drawn = hashlib.shake_256(key.encode() + b"\0" + content_hash(bodies))
    return event_ids(drawn.digest(_ID_BYTES * len(bodies)))


def _placed(ids: pa.Array, judged: Judged, count: int) -> list[str | None]:
    """Ids of a request's events by their places."""
    placed: list[str | None] = [None] * count
    for row, id in zip(judged.rows.to_pylist(), ids.to_pylist(), strict=True):
        placed[row] = id
    return placed


class _NothingLeft(Problem):
    """Raised if none of a request's events is accepted."""


def _nothing_left(judged: Judged) -> _NothingLeft:
    shown = list(judged.reasons.items())[:_SHOWN]
    faults = [Fault(message=reason, field=f"events.{row}") for row, reason in shown]
    more = "" if len(judged.reasons) == 1 else f" (and {len(judged.reasons) - 1:,} more are refused)"
    return _NothingLeft(422, "event", f"no event was accepted: {shown[0][1]}{more}", faults)
