"""Webhooks over real connections: signed, pinned to the address that was checked, and never led astray."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import ssl
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tamis.service.base.configuration import DeliverySettings
from tamis.service.base.events import Notification, notification_id
from tamis.service.delivery.channels import Undelivered
from tamis.service.delivery.webhooks import PREVIOUS, WebhookChannel
from tamis.service.store import Subscription
from tests.service.delivery.endpoints import Request, saying, serving
from tests.service.delivery.made import LATER, NOON, SECRET, StillClock, run
from tests.service.delivery.test_signing import new_secret, verifies

LOCAL = DeliverySettings(allow_private=True, timeout=5.0, connect_timeout=5.0)


def _notification(url: str, event: object = None, **delivery: Any) -> Notification:
    delivery = {"mode": "webhook", "url": url, "secret": SECRET} | delivery
    subscription = Subscription(
        7, "sub_seven", "", "", "filter", "TRUE", "tamis", "TRUE", None, delivery, "active", NOON, LATER, 7
    )
    text = json.dumps({"price": 9.5} if event is None else event)
    body = json.dumps({"id": notification_id("evt", "sub_seven"), "event": json.loads(text)}).encode()
    return Notification(notification_id("evt", "sub_seven"), subscription, 1, "evt", NOON, text, body)


def _channel(settings: DeliverySettings = LOCAL, **given: Any) -> WebhookChannel:
    return WebhookChannel(settings, StillClock(), **given)


def test_a_notification_is_posted_and_signed() -> None:
    async def post() -> None:
        async with serving(saying(200)) as server:
            channel = _channel()
            notification = _notification(
                server.url(path="/hook?a=b"), headers={"X-Team": "antiques", "Host": "elsewhere"}
            )
            await channel.send([notification])
            await channel.send([notification])
            first, second = server.requests
            assert first.line == "POST /hook?a=b HTTP/1.1"
            assert first.body == notification.body
            assert first.headers["webhook-id"] == notification.id == second.headers["webhook-id"]
            assert first.headers["webhook-timestamp"] == str(int(NOON.timestamp()))
            assert verifies(SECRET, first.headers, first.body)
            assert first.headers["content-type"] == "application/json"
            assert (first.headers["x-team"], first.headers["host"]) == ("antiques", f"127.0.0.1:{server.port}")
            assert server.connections == 1, "a connection is used again"
            await channel.close()

    run(post())


def test_the_event_can_go_as_a_cloudevent() -> None:
    async def post() -> None:
        async with serving(saying(204)) as server:
            channel = _channel()
            context = {"specversion": "1.0", "id": "1", "source": "/a", "type": "antiques"}
            event = {"ce": context, "event_type": ["antiques"], "price": 9.5}
            await channel.send([_notification(server.url(), event, format="cloudevents")])
            await channel.send(
                [_notification(server.url(), {"event_type": ["antiques"], "n": 1}, format="cloudevents")]
            )
            published, other = server.requests
            assert published.headers["content-type"].startswith("application/cloudevents+json")
            assert json.loads(published.body) == {**context, "data": {"price": 9.5}}
            assert verifies(SECRET, published.headers, published.body)
            made = json.loads(other.body)
            assert (made["id"], made["type"], made["specversion"]) == ("evt", "antiques", "1.0")
            assert made["data"] == {"event_type": ["antiques"], "n": 1}
            await channel.close()

    run(post())


@pytest.mark.parametrize(
    ("status", "fault", "gone"), [(404, False, False), (410, False, True), (503, True, False), (302, False, False)]
)
def test_whatever_is_not_success_is_a_failure(status: int, fault: bool, gone: bool) -> None:
    async def refused() -> None:
        answer = saying(status, b"no", retry_after="17", location="/elsewhere")
        async with serving(answer) as server:
            channel = _channel()
            with pytest.raises(Undelivered) as raised:
                await channel.send([_notification(server.url())])
            assert (raised.value.fault, raised.value.gone, raised.value.retry_after) == (fault, gone, 17)
            assert str(status) in raised.value.reason
            assert len(server.requests) == 1, "redirects are not followed"
            await channel.close()

    run(refused())


def test_an_endpoint_that_is_not_there_or_does_not_answer_is_at_fault() -> None:
    async def silent(_: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async def never_done(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n.")
        await silent(_, writer)

    async def failing() -> None:
        channel = _channel(replace(LOCAL, timeout=0.2))
        for answer in (silent, never_done):
            async with serving(answer) as server:
                with pytest.raises(Undelivered, match="no answer within") as raised:
                    await channel.send([_notification(server.url())])
                assert raised.value.fault
        with pytest.raises(Undelivered, match="Connect") as raised:
            await channel.send([_notification(server.url())])
        assert raised.value.fault
        await channel.close()

    run(failing())


def test_an_endless_answer_is_not_read() -> None:
    written = 0

    async def endless(_: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1000\r\n" + b"." * 4096 + b"\r\n")
            written += 4096
            await writer.drain()

    async def post() -> None:
        async with serving(endless) as server:
            channel = _channel()
            await channel.send([_notification(server.url())])
            await channel.close()
        assert written < 64 << 20

    run(post())


def test_a_name_goes_to_the_address_that_was_checked() -> None:
    asked = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    async def post() -> None:
        async with serving(saying(200)) as server:
            channel = _channel(resolve=resolve)
            await channel.send([_notification(server.url("hooks.example.org"))])
            assert server.requests[0].headers["host"] == f"hooks.example.org:{server.port}"
            assert asked == ["hooks.example.org"]
            await channel.close()

    run(post())


@pytest.mark.parametrize(
    "answer", [["127.0.0.1"], ["93.184.215.14", "10.0.0.1"], ["::ffff:127.0.0.1"], ["169.254.169.254"], ["fe80::1%lo"]]
)
def test_a_name_that_stands_for_something_private_is_not_called(answer: list[str]) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return answer

    async def refused() -> None:
        async with serving(saying(200)) as server:
            channel = _channel(replace(LOCAL, allow_private=False), resolve=resolve)
            with pytest.raises(Undelivered) as raised:
                await channel.send([_notification(server.url("hooks.example.org"))])
            assert not raised.value.fault
            assert not any(address in raised.value.reason for address in answer)
            assert server.connections == 0
            await channel.close()

    run(refused())


def test_nothing_is_told_of_names_inside_this_network() -> None:
    """What stands for something private is answered like what stands for nothing."""

    async def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async def private(host: str, port: int) -> list[str]:
        return ["10.1.2.3"]

    async def reasons() -> None:
        told = []
        for resolve in (unknown, private):
            channel = _channel(replace(LOCAL, allow_private=False), resolve=resolve)
            with pytest.raises(Undelivered) as raised:
                await channel.send([_notification("http://vault.corp/hook")])
            told.append((raised.value.reason, raised.value.fault))
            await channel.close()
        assert told[0] == told[1]

    run(reasons())


def test_a_private_url_in_the_store_is_not_called_either() -> None:
    async def refused() -> None:
        async with serving(saying(200)) as server:
            channel = _channel(replace(LOCAL, allow_private=False))
            for host in ("127.0.0.1", "localhost", "2130706433", "[::1]"):
                with pytest.raises(Undelivered):
                    await channel.send([_notification(server.url(host))])
            assert server.connections == 0
            await channel.close()

    run(refused())


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for hooks.example.org, and its key, in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    name = ["-subj", "/CN=hooks.example.org", "-addext", "subjectAltName=DNS:hooks.example.org"]
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run([openssl, "req", *kind, *files, *name], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text((folder / "certificate.pem").read_text() + (folder / "key.pem").read_text())
    return both


@pytest.mark.parametrize(("host", "right"), [("hooks.example.org", True), ("other.example.org", False)])
def test_the_certificate_is_held_to_the_name_not_the_address(certificate: Path, host: str, right: bool) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async def post() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        async with serving(saying(200), context) as server:
            channel = _channel(resolve=resolve, tls=ssl.create_default_context(cafile=str(certificate)))
            notification = _notification(server.url(host, scheme="https"))
            if right:
                await channel.send([notification])
            else:
                with pytest.raises(Undelivered, match=r"(?i)certificate"):
                    await channel.send([notification])
            assert len(server.requests) == right
            await channel.close()

    run(post())


def _several(url: str, count: int, **delivery: Any) -> list[Notification]:
    one = _notification(url, **delivery)
    return [
        replace(one, id=notification_id(f"evt{at}", "sub_seven"), position=at, event_id=f"evt{at}")
        for at in range(1, count + 1)
    ]


def test_a_batch_is_an_array_under_one_id_and_signature() -> None:
    async def post() -> None:
        async with serving(saying(200)) as server:
            channel = _channel()
            batch = _several(server.url(), 3, batch=10)
            for call in (batch, batch, batch[:2], batch[:1]):
                await channel.send(call)
            first, again, fewer, one = server.requests
            assert json.loads(first.body) == [json.loads(notification.body) for notification in batch]
            assert first.headers["content-type"] == "application/json"
            assert verifies(SECRET, first.headers, first.body)
            ids = [request.headers["webhook-id"] for request in (first, again, fewer, one)]
            assert ids[0] == ids[1] != ids[2]
            assert ids[3] == batch[0].id
            assert isinstance(json.loads(one.body), list), "an array, also of one"
            await channel.close()

    run(post())


def test_a_batch_of_cloudevents_is_in_their_batched_mode() -> None:
    async def post() -> None:
        async with serving(saying(200)) as server:
            channel = _channel()
            await channel.send(_several(server.url(), 3, batch=10, format="cloudevents"))
            (request,) = server.requests
            assert request.headers["content-type"].startswith("application/cloudevents-batch+json")
            assert [event["id"] for event in json.loads(request.body)] == ["evt1", "evt2", "evt3"]
            assert verifies(SECRET, request.headers, request.body)
            await channel.close()

    run(post())


def test_while_a_secret_is_rotated_receivers_who_know_the_old_or_the_new_one_take_a_call() -> None:
    async def post() -> None:
        old, older, now = new_secret(), new_secret(), int(NOON.timestamp())
        before = [{"secret": old, "until": now + 1}, {"secret": older, "until": now}]
        async with serving(saying(200)) as server:
            channel = _channel()
            await channel.send([_notification(server.url(), **{PREVIOUS: before})])
            (request,) = server.requests
            taken = [verifies(secret, request.headers, request.body) for secret in (SECRET, old, older)]
            assert taken == [True, True, False]
            await channel.close()

    run(post())


def test_calls_in_parallel_keep_their_connections_for_the_next_ones() -> None:
    async def post() -> None:
        together = asyncio.Barrier(20)

        async def when_all_are_there(request: Request, writer: asyncio.StreamWriter) -> None:
            await together.wait()
            await saying(200)(request, writer)

        async with serving(when_all_are_there) as server:
            channel = _channel()
            for _ in range(3):
                await asyncio.gather(*[channel.send([_notification(server.url())]) for _ in range(20)])
            assert (len(server.requests), server.connections) == (60, 20)
            await channel.close()

    run(post())


def test_only_so_many_idle_connections_are_kept() -> None:
    async def post() -> None:
        together = asyncio.Barrier(6)

        async def when_all_are_there(request: Request, writer: asyncio.StreamWriter) -> None:
            await together.wait()
            await saying(200)(request, writer)

        async with serving(when_all_are_there) as server:
            channel = _channel(replace(LOCAL, concurrency=2))
            for _ in range(2):
                await asyncio.gather(*[channel.send([_notification(server.url())]) for _ in range(6)])
            assert server.connections == 6 + 2, "four are kept, two for each call that may be under way"
            await channel.close()

    run(post())


def test_a_connection_that_the_server_has_closed_is_not_used_again() -> None:
    async def post() -> None:
        closed = asyncio.Event()

        async def last(request: Request, writer: asyncio.StreamWriter) -> None:
            await saying(200)(request, writer)
            writer.close()
            await writer.wait_closed()
            closed.set()

        async with serving(last) as server:
            channel = _channel()
            for _ in range(3):
                closed.clear()
                await channel.send([_notification(server.url())])
                await closed.wait()
            assert server.connections == 3
            await channel.close()

    run(post())


@pytest.mark.parametrize(("status", "refused"), [(400, True), (413, True), (422, True), (429, False), (500, False)])
def test_what_is_refused_for_its_content_is_told_from_what_may_be_sent_again(status: int, refused: bool) -> None:
    async def post() -> None:
        async with serving(saying(status)) as server:
            channel = _channel()
            with pytest.raises(Undelivered) as raised:
                await channel.send(_several(server.url(), 2, batch=2))
            assert raised.value.refused == refused
            await channel.close()

    run(post())
