"""Questions to examiners as routes ask them: bounded, and given up when the client hangs up."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pyarrow as pa
from fastapi import Request, Response

from tamis.service.api.access import Caller
from tamis.service.api.examiners.pool import unless_gone
from tamis.service.api.problems import Problem
from tamis.service.api.service import Service


async def asked(
    request: Request, service: Service, caller: Caller, about: str, records: pa.Table | None = None, **question: Any
) -> Response:
    """An examiner's answer. The process that serves sees no more of it than its bytes."""
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
    tail = b"" if records is None else _written(records)
    asking = service.examiners.ask(caller.claimant, question, (version, schema), tail)
    answer = await unless_gone(request, asyncio.create_task(asking))
    return Response(answer, media_type="application/json")


def _written(records: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, records.schema) as writing:
        writing.write_table(records)
    return sink.getvalue().to_pybytes()
