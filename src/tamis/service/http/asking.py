"""Questions to examiners as routes ask them: bounded, and given up when the client hangs up."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Final

import orjson
import pyarrow as pa
from anyio import to_thread
from fastapi import Request, Response

from tamis.service.examining.pool import unless_gone
from tamis.service.examining.trials import EXAMINED, newest_within
from tamis.service.http.access import Caller
from tamis.service.http.service import Service
from tamis.service.intake.problems import Problem

_FEW: Final = 64
_TRIED: Final = 1_000


async def asked(
    request: Request, service: Service, caller: Caller, about: str, *, recent: bool = False, **question: Any
) -> Response:
    """An examiner's answer; with `recent`, it is given the newest events. Only its bytes come through this process."""
    most = service.limits.examined_bytes
    if len(orjson.dumps(question.get("event"))) > most:
        raise Problem(413, "too-large", f"an event to look at has at most {most:,} bytes")
    version, schema = service.followed.serving
    question |= {
        "about": about,
        "inside": caller.administers,
        "ignores_unknown": service.ignores_unknown(version),
        "learned": service.learned(),
    }
    # Events are read when there is a place: of those who wait for one, hundreds would hold megabytes each.
    tail = partial(_newest, service) if recent else None
    asking = service.examiners.ask(caller.claimant, question, (version, schema), tail)
    answer = await unless_gone(request, asyncio.create_task(asking))
    return Response(answer, media_type="application/json")


async def _newest(service: Service) -> bytes:
    """The newest events as Arrow's stream: so many, or as many as are not too large."""
    count, found = _FEW, await service.recent_events(_FEW)
    # A thousand of the largest would be a gigabyte: few are read at first.
    while len(found) == count < _TRIED and found.nbytes < EXAMINED:
        count = min(4 * count, _TRIED)
        found = await service.recent_events(count)
    return await to_thread.run_sync(_written, newest_within(found))


def _written(records: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, records.schema) as writing:
        writing.write_table(records)
    return sink.getvalue().to_pybytes()
