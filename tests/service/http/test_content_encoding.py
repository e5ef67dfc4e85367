"""Compressed bodies: events come in gzip, and nothing is inflated further than it may be."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from tamis.service.base.configuration import AccessSettings, LimitSettings, Settings
from tamis.service.http.bodies import BodyLimit
from tamis.service.intake.problems import Problem
from tests.service.http.server import CHEAP, Server

LINES = "application/x-ndjson"


def post(
    server: Server, body: bytes, encoding: str = "gzip", path: str = "/v1/events", **headers: str
) -> httpx.Response:
    headers = {"Content-Type": LINES if path == "/v1/events" else "application/json", **headers}
    return server.client.post(path, content=body, headers={**headers, "Content-Encoding": encoding})


def read(body: list[bytes], most: int, encoding: str = "gzip") -> tuple[bytes, int]:
    """What a route reads of a body that comes in these pieces, and the most that was counted as held meanwhile."""
    found: list[bytes] = []
    held = [0]

    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        async for piece in Request(scope, receive).stream():
            found.append(piece)
            held.append(limit.shares.held)

    pieces = list(body)

    async def receive() -> Message:
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        raise AssertionError

    limit = BodyLimit(route, body_bytes=most, concurrent_bytes=4 * most)
    scope: dict[str, Any] = {"type": "http", "headers": [(b"content-encoding", encoding.encode())]}
    asyncio.run(limit(scope, receive, send))
    assert limit.shares.held == 0
    return b"".join(found), max(held)


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip", "identity, gzip"])
def test_events_come_in_gzip(server: Server, encoding: str) -> None:
    lines = b"\n".join(orjson.dumps({**CHEAP, "quantity": n}) for n in range(2_000))
    answer = post(server, gzip.compress(lines), encoding)
    assert answer.json()["accepted"] == 2_000, answer.text
    assert orjson.loads(server.service.log.recent(1)["body"][0].as_py())["quantity"] == 1_999
    assert post(server, gzip.compress(orjson.dumps(CHEAP)), encoding, **{"Idempotency-Key": "k"}).status_code == 202
    assert post(server, orjson.dumps(CHEAP), "identity", **{"Idempotency-Key": "k"}).json()["repeated"] is True


@given(
    parts=st.lists(st.binary(max_size=300) | st.integers(0, 300_000).map(bytes), min_size=1, max_size=4),
    size=st.integers(1, 5_000),
)
def test_what_was_compressed_comes_out_as_it_was_however_it_is_cut(parts: list[bytes], size: int) -> None:
    packed = b"".join(map(gzip.compress, parts))
    found, held = read([packed[at : at + size] for at in range(0, len(packed), size)], 2_000_000)
    assert found == b"".join(parts)
    assert held == len(found)


@pytest.mark.parametrize("pieces", [1, 7])
def test_a_bomb_is_inflated_no_further_than_a_body_may_be_long(pieces: int) -> None:
    """Half a gigabyte of zeros, in half a megabyte."""
    packer = zlib.compressobj(9, wbits=31)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(512)) + packer.flush()
    step = len(packed) // pieces + 1
    tracemalloc.start()
    try:
        with pytest.raises(Problem) as refused:
            read([packed[at : at + step] for at in range(0, len(packed), step)], 1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert refused.value.status == 413


def test_a_body_that_inflates_to_nothing_may_not_go_on_either() -> None:
    packer = zlib.compressobj(9, wbits=31)
    nothing = packer.flush(zlib.Z_FULL_FLUSH)
    with pytest.raises(Problem) as refused:
        read([nothing, *[packer.flush(zlib.Z_FULL_FLUSH) or b"\0\0\0\xff\xff" for _ in range(1_000)]], 2_000)
    assert refused.value.status == 413
    with pytest.raises(Problem, match="1,000 gzip streams"):
        read([gzip.compress(b"") * 1_001], 1 << 20)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (orjson.dumps(CHEAP), "said to be gzip, and is not"),
        (gzip.compress(orjson.dumps(CHEAP))[:-9], "ends before"),
        (gzip.compress(orjson.dumps(CHEAP)) + b"more", "said to be gzip"),
        (gzip.compress(orjson.dumps(CHEAP))[:-8] + bytes(8), "said to be gzip"),
        (b"\x1f", "ends before"),
    ],
    ids=["plain", "cut", "with more behind", "of another checksum", "one byte"],
)
def test_what_is_no_gzip_is_refused(server: Server, body: bytes, said: str) -> None:
    answer = post(server, body)
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:tamis:problem:content-encoding")
    assert said in answer.json()["detail"]


def test_a_bomb_is_an_answer_of_413(start: Callable[..., Server]) -> None:
    server = start(Settings(limits=LimitSettings(body_bytes=1 << 20)))
    assert post(server, gzip.compress(bytes(50 << 20))).status_code == 413
    assert post(server, gzip.compress(orjson.dumps(CHEAP))).status_code == 202


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "x" * 5_000])
def test_other_encodings_are_refused_by_their_name(server_once: Server, encoding: str) -> None:
    answer = post(server_once, b"x", encoding)
    assert (answer.status_code, answer.json()["type"]) == (415, "urn:tamis:problem:content-encoding")
    assert encoding[:50] in answer.json()["detail"]
    assert len(answer.content) < 1_000
    assert answer.headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("path", ["/v1/subscriptions", "/v1/filters/check", "/v1/backtests", "/v1/advertisements"])
@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_forms_are_not_compressed(server_once: Server, path: str, encoding: str) -> None:
    answer = post(server_once, gzip.compress(b'{"filter": "price < 1"}'), encoding, path)
    assert answer.status_code == 415, answer.text
    assert encoding in answer.json()["detail"]


def test_a_key_is_looked_at_before_anything_is_inflated(start: Callable[..., Server]) -> None:
    server = start(Settings(access=AccessSettings(publish="keys")))
    assert post(server, b"no gzip").status_code == 401
    assert post(server, b"no gzip", "br").status_code == 401
    assert post(server, gzip.compress(orjson.dumps(CHEAP)), **server.key("publish")).status_code == 202
