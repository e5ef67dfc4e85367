"""A small service with made-up, changing data behind the API's own paths, for the console to be tried on.

Filters are checked and explained by Tamis itself, so that the places of errors are true ones.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.responses import Response

from tamis.errors import FilterError, SchemaError
from tamis.language import normalise, parse, print_filter
from tamis.matching.explanation import Explanation, explain
from tamis.service.http.console import router as console
from tests.service.http.console.fake_state import ADMINISTRATOR, SUBSCRIBER, TICKET, State, now, subscription

Json = dict[str, Any]


class Refusal(Exception):  # noqa: N818 - an answer, not a fault
    """An answer as application/problem+json."""

    def __init__(self, status: int, detail: str, errors: list[Json] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.content = {"type": "about:blank", "title": "Refused", "status": status, "detail": detail}
        self.content |= {"errors": errors or []}


def state_of(request: Request) -> State:
    state: State = request.app.state.fake
    return state


Fake = Annotated[State, Depends(state_of)]


async def let_in(request: Request, fake: Fake, authorization: Annotated[str, Header()] = "") -> None:
    path = request.url.path.removeprefix("/v1/")
    fake.asked.append((request.method, path, dict(request.query_params)))
    if path in fake.broken:
        raise Refusal(503, "the store does not answer")
    secret = authorization.removeprefix("Bearer ")
    if secret not in (ADMINISTRATOR, SUBSCRIBER) and (secret or fake.needs_key):
        raise Refusal(401, "this key is unknown or revoked" if secret else "this needs an API key")
    if path.startswith("keys") and secret != ADMINISTRATOR:
        raise Refusal(403, "this key may not administer")


api = APIRouter(prefix="/v1", dependencies=[Depends(let_in)])


def create_fake(state: State) -> FastAPI:
    """The application, with the console."""
    app = FastAPI()
    app.state.fake = state
    app.include_router(api)
    app.include_router(console)

    async def refuse(_: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        return JSONResponse(error.content, error.status, media_type="application/problem+json")

    app.add_exception_handler(Refusal, refuse)
    return app


@api.get("/status")
async def status(fake: Fake) -> Json:
    wave = 1 + math.sin(time.time() / 7) / 4 + math.sin(time.time() / 2.3) / 9
    seconds = time.time() - fake.started
    last = {"events": int(240 * wave), "matches": int(600 * wave), "dead": 0, "milliseconds": 310.5}
    pipeline: Json = {"since": fake.started, "batches": int(2 * seconds), "events": int(480 * seconds), "dead": 3}
    pipeline |= {"matches": int(1250 * seconds), "revision": 60, "refused_subscriptions": 0, "last_batch": last}
    return {
        "version": "1.0",
        "uptime_seconds": seconds + 4000,
        "schema_version": fake.schema_version,
        "rates": {
            "published": 480 * wave,
            "matched": 1250 * wave * wave,
            "delivered": 1240 * wave * wave,
            "refused": 0,
        },
        "totals": {"published": 30_000, "matched": 72_000, "delivered": 72_000, "refused": 3},
        "latency": {"p50": 420 * wave, "p99": 910 * wave},
        "lag": {"events": int(200 * wave)},
        "subscriptions": {"active": 100_432, "paused": 12, "expired": 4, "cancelled": 3},
        "dead_letters": len(fake.letters),
        "revision": 60,
        "log": {"events": 90_000, "bytes": 31_400_000},
        "delivery": {"position": 1, "listeners": 3, "handed_out": 51_200, "delivered": 8_123, "failed": 12}
        | {"breakers_open": 1, "outlets": 2, "failing": 1, "disabled": 0}
        | {"endpoints": [{"endpoint": "https://hooks.example.org:443", "state": "open", "failures": 7}]},
        "pipeline": pipeline | fake.pipeline,
    }


@api.get("/subscriptions")
async def listed(fake: Fake, search: str = "", state: str = "", after: int = 0, limit: int = 100) -> Json:
    wanted = [
        (number, each)
        for number, each in enumerate(fake.subscriptions, 1)
        if number > after
        and search.lower() in f"{each['id']} {each['label']} {each['filter']}".lower()
        and state in ("", each["state"])
    ]
    page = wanted[:limit]
    following = page[-1][0] if len(page) == limit else None
    return {"items": [each for _, each in page], "next": following, "total": len(fake.subscriptions)}


@api.post("/subscriptions", status_code=201)
async def subscribed(fake: Fake, body: Json) -> Json:
    canonical(fake, body["filter"])
    if body["delivery"]["mode"] == "webhook" and not body["delivery"]["url"].startswith("https://"):
        raise Refusal(422, "delivery.url: an address begins with https://")
    made = subscription(len(fake.subscriptions) + 1, body["filter"], body["label"], delivery=body["delivery"])
    made |= validity(body["validity"])
    fake.subscriptions.append(made)
    return made | {"ticket": TICKET}


def owned(id: str, fake: Fake) -> Json:
    found = fake.found(id)
    if found is None:
        raise Refusal(404, "there is no such subscription, or it is not yours")
    return found


Owned = Annotated[Json, Depends(owned)]


def validity(asked: int | str) -> Json:
    if asked == "forever":
        return {"validity": "forever", "expires": None, "expiring": False}
    return {"expires": now(float(asked)), "expiring": False}


@api.get("/subscriptions/{id}")
async def one(found: Owned) -> Json:
    return found


@api.patch("/subscriptions/{id}")
async def changed(found: Owned, body: Json) -> Json:
    found |= body
    return found


@api.delete("/subscriptions/{id}", status_code=204)
async def cancelled(found: Owned) -> None:
    found["state"] = "cancelled"


@api.post("/subscriptions/{id}/renew")
async def renewed(found: Owned, body: Json) -> Json:
    found |= validity(body["validity"]) | {"state": "active"}
    return found


@api.post("/subscriptions/{id}/replay")
async def replayed_from(found: Owned, body: Json) -> Json:
    found["replayed"] = body["since"]
    return {"cursor": "7"}


@api.post("/subscriptions/{id}/test")
async def tested(found: Owned, body: Json, fake: Fake) -> Json:
    return explanation(explain(found["filter"], body["event"], fake.schema))


@api.get("/subscriptions/{id}/activity")
async def activity(found: Owned, seconds: int = 86_400, bucket: int = 1800) -> Json:
    quiet = found["state"] == "cancelled"
    counts = [
        [now(-bucket * at), 0 if quiet else int(20 + 15 * math.sin(at / 5))]
        for at in range(seconds // bucket - 2, 0, -1)
    ]
    return {"counts": counts, "total": sum(n for _, n in counts), "bucket_seconds": bucket}


@api.get("/stream")
async def stream(fake: Fake, last_event_id: Annotated[str | None, Header()] = None) -> StreamingResponse:
    fake.resumed.append(last_event_id)
    return StreamingResponse(notifications(fake, "sub_0000000000000000000001"), media_type="text/event-stream")


@api.get("/subscriptions/{id}/stream")
async def stream_of_one(found: Owned, fake: Fake) -> StreamingResponse:
    return StreamingResponse(notifications(fake, found["id"]), media_type="text/event-stream")


@api.get("/subscriptions/{id}/notifications")
async def polled(found: Owned, fake: Fake, order: str, cursor: str = "", limit: int = 100) -> Json:
    assert order == "newest"
    last = int(cursor or 31)
    page = [notification(fake, found["id"], at) for at in range(last - 1, max(last - limit, 1) - 1, -1)]
    return {
        "notifications": page,
        "cursor": page[-1]["cursor"] if page else cursor,
        "state": found["state"],
        "more": last - limit > 1,
    }


def notification(fake: State, id: str, cursor: int) -> Json:
    event = fake.events[cursor % len(fake.events)]
    matched = [{"condition": "price < 500", "values": {"price": [event["price"]]}}]
    made = {"id": f"ntf_{cursor}", "subscription": id, "cursor": str(cursor), "time": now(), "event": event}
    bound = {"bindings": {"people": 50 + cursor, "place": "Bronx"}} if cursor % 2 else {}
    return made | {"event_id": f"evt_{cursor}", "matched": matched, **bound}


async def notifications(fake: State, id: str) -> AsyncIterator[str]:
    yield "retry: 2000\n\n"
    for cursor in itertools.islice(itertools.count(1), fake.stream_length):
        yield f"id: {cursor}\ndata: {json.dumps(notification(fake, id, cursor))}\n\n"
        await asyncio.sleep(0.2)


def canonical(fake: State, text: str) -> str:
    try:
        return print_filter(normalise(parse(text, fake.schema), fake.schema, text=text), fake.schema)
    except FilterError as error:
        fault = {"message": error.message, "start": error.start, "end": error.end, "field": "filter"}
        raise Refusal(422, error.message, [fault]) from error


def explanation(found: Explanation) -> Json:
    alternatives = [
        [{"condition": v.condition, "state": v.state, "values": dict(v.values)} for v in verdicts]
        for verdicts in found.alternatives
    ]
    return {"matched": found.matched, "alternatives": alternatives}


@api.post("/filters/check")
async def checked(fake: Fake, body: Json) -> Json:
    return {"canonical": canonical(fake, body["filter"]), "kind": "filter"}


@api.post("/filters/explain")
async def explained(fake: Fake, body: Json) -> Json:
    canonical(fake, body["filter"])
    return explanation(explain(body["filter"], body["event"], fake.schema))


@api.post("/filters/try")
async def tried(fake: Fake, body: Json) -> Json:
    canonical(fake, body["filter"])
    shown: dict[bool, list[Json]] = {True: [], False: []}
    for at, event in enumerate(fake.events):
        matched = explain(body["filter"], event, fake.schema).matched
        shown[matched].append({"id": f"evt_{at}", "time": now(-at), "event": event})
    found = {"canonical": body["filter"], "examined": len(fake.events), "matched": len(shown[True])}
    return found | {"events": shown[True][:50], "misses": shown[False][:50]}


@api.post("/backtests", status_code=202)
async def backtested(fake: Fake, body: Json) -> Json:
    canonical(fake, body["filter"])
    id = f"bt_{len(fake.backtests)}"
    fake.backtests[id] = {"id": id, "state": "waiting", "done": 0, "total": 8, "result": None, "error": ""}
    return fake.backtests[id]


@api.get("/backtests/{id}")
async def backtest(id: str, fake: Fake) -> Json:
    job = fake.backtests[id]
    job["done"] = min(job["total"], job["done"] + 4)
    job["state"] = "running"
    if job["done"] == job["total"]:
        hours = range(36)
        counts: list[Any] = [[now(-3600 * (36 - at)), int(60 + 50 * math.sin(at / 4))] for at in hours]
        volume: list[Any] = [[now(-3600 * (36 - at)), int(2500 + 800 * math.sin(at / 6))] for at in hours]
        result = {"events": 90_000, "illegible": 3, "window_seconds": 3600, "counts": counts, "volume": volume}
        result |= {"total": sum(n for _, n in counts), "samples": fake.events[:3], "errors": []}
        job |= {"state": "done", "result": result}
    return job


@api.get("/network")
async def network(fake: Fake) -> Json:
    return fake.network


@api.get("/operators")
async def operators(fake: Fake) -> Json:
    return {"items": fake.operators}


@api.get("/schema")
async def schema(fake: Fake) -> Json:
    carried = {"name": "ce.source", "domain": "string", "kind": "string", "multiple": False}
    types = list(fake.schema.event_types)
    return {
        "version": fake.schema_version,
        "schema": fake.schema.to_dict(),
        "attributes": [carried],
        "event_types": types,
    }


@api.post("/schema/extensions")
async def extended(fake: Fake, body: Json) -> Json:
    try:
        fake.schema = fake.schema.extend(**body)
    except SchemaError as error:
        raise Refusal(422, str(error)) from error
    fake.schema_version += 1
    return await schema(fake)


@api.get("/dead-letters")
async def dead_letters(fake: Fake, order: str, kind: str = "") -> Json:
    assert order == "newest"
    return {"dead_letters": [each for each in reversed(fake.letters) if kind in ("", each["kind"])], "next": None}


@api.post("/dead-letters/{id}/replay", status_code=202)
async def replayed(id: int, fake: Fake) -> Json:
    fake.letters = [each for each in fake.letters if each["id"] != id]
    return {"delivered": True}


@api.delete("/dead-letters/{id}", status_code=204)
async def removed(id: int, fake: Fake) -> None:
    fake.letters = [each for each in fake.letters if each["id"] != id]


@api.get("/keys")
async def keys(fake: Fake) -> Json:
    return {"items": fake.keys}


@api.post("/keys", status_code=201)
async def new_key(fake: Fake, body: Json) -> Json:
    fake.keys.append({"id": body["name"], "created": now(), "revoked": None, **body})
    return fake.keys[-1] | {"secret": "tk_new_shown_once"}


@api.delete("/keys/{id}")
async def revoked(id: str, fake: Fake) -> Json:
    next(each for each in fake.keys if each["id"] == id)["revoked"] = now()
    return {"id": id, "paused": 3}
