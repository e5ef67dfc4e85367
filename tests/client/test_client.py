"""Both clients: what they send, what they make of answers, and how they take lost connections."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tamis.client import AsyncClient, Client, ServiceError, ServiceUnreachable
from tamis.client.requests import Request
from tests.client.service_double import ServiceDouble


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []

    async def remember(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("tamis.client.blocking.time.sleep", waited.append)
    monkeypatch.setattr("tamis.client.asynchronous.asyncio.sleep", remember)
    return waited


def client(double: Callable[[httpx.Request], httpx.Response]) -> Client:
    return Client("http://tamis.test", key="tk_1", transport=httpx.MockTransport(double))


def asynchronous(double: Callable[[httpx.Request], httpx.Response]) -> AsyncClient:
    return AsyncClient("http://tamis.test", key="tk_1", transport=httpx.MockTransport(double))


def test_a_subscription_has_its_ticket_and_sends_it_along() -> None:
    double = ServiceDouble()
    with client(double) as tamis:
        subscription = tamis.subscribe("price < 10", validity=timedelta(hours=2), label="cheap")
        assert (subscription.id, subscription.ticket, subscription.filter) == ("sub_1", "tkt_1", "price < 10")
        assert subscription.about["asked"] == {"filter": "price < 10", "label": "cheap", "validity": 7200}
        assert subscription.renew() == datetime(2026, 2, 1, 10, tzinfo=UTC)
        subscription.cancel()
    assert [request.headers["authorization"] for request in double.requests] == ["Bearer tk_1"] * 3
    assert [request.headers.get("tamis-ticket") for request in double.requests[1:]] == ["tkt_1", "tkt_1"]


def test_a_subscribe_whose_answer_was_lost_is_repeated_with_the_same_ticket() -> None:
    double = ServiceDouble(lose=2)
    with client(double) as tamis:
        tamis.subscribe("price < 10")
        tamis.subscribe("price < 10")
    tickets = [request.headers["tamis-ticket"] for request in double.requests]
    assert tickets[0] == tickets[1] == tickets[2] != tickets[3]
    assert len(tickets[0]) == 47


def test_a_rotation_whose_answer_was_lost_is_repeated_with_the_same_secret() -> None:
    double = ServiceDouble()
    with client(double) as tamis:
        subscription = tamis.subscribe("price < 10", delivery={"mode": "webhook", "url": "https://example.org/"})
        double.lose = 1
        secret = subscription.rotate_secret(timedelta(hours=2))
    asked = [json.loads(request.content) for request in double.requests[1:]]
    assert asked == [{"secret": secret, "overlap": 7200}] * 2
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32


def test_a_refusal_says_what_the_service_said() -> None:
    with client(ServiceDouble()) as tamis, pytest.raises(ServiceError, match="did you mean price") as refused:
        tamis.subscribe("prce < 10")
    assert refused.value.status == 422


def test_a_publish_whose_answer_was_lost_is_repeated_with_the_same_key() -> None:
    double = ServiceDouble(lose=2)
    with client(double) as tamis:
        published = tamis.publish([{"price": 1}, {"price": 2}])
        assert (published.accepted, published.ids) == (2, ["evt_1", None])
    keys = {request.headers["idempotency-key"] for request in double.requests}
    assert len(double.requests) == 3
    assert len(keys) == 1


def test_what_a_service_ignored_of_a_publish_is_named() -> None:
    with client(ServiceDouble()) as tamis:
        told = tamis.publish({"price": 1, "colour": "red"})
        assert (told.ignored, told.ignored_count) == ({"colour": 1}, 1)
        assert tamis.publish({"price": 1}).ignored == {}


def test_two_publishes_have_two_keys_unless_the_caller_gives_one() -> None:
    double = ServiceDouble()
    with client(double) as tamis:
        tamis.publish({"price": 1})
        tamis.publish({"price": 1})
        assert not tamis.publish({"price": 1}, key="mine").repeated
        assert tamis.publish({"price": 1}, key="mine").repeated
    assert len(double.published) == 3


def test_a_service_that_never_answers_is_reported() -> None:
    with client(ServiceDouble(lose=100)) as tamis, pytest.raises(ServiceUnreachable, match="does not answer"):
        tamis.publish({"price": 1})


def test_notifications_come_once_and_in_order_through_lost_connections() -> None:
    double = ServiceDouble()
    with client(double) as tamis:
        notifications = tamis.subscribe("price < 10").notifications()
        numbers = [notification.event["price"] for notification in itertools.islice(notifications, 7)]
    assert numbers == [1, 2, 3, 4, 5, 6, 7]
    streams = [request for request in double.requests if request.url.path.endswith("/stream")]
    assert [request.headers.get("last-event-id") for request in streams] == [None, "2", "4", "6"]


def test_waits_double_while_a_service_is_away_and_end_when_it_is_back(no_waiting: list[float]) -> None:
    double = ServiceDouble()
    with client(double) as tamis:
        notifications = tamis.subscribe("price < 10").notifications()
        next(notifications)
        double.lose = 3
        assert [next(notifications).event["price"] for _ in range(2)] == [2, 3]
    assert no_waiting == [0.2, 0.4, 0.8, 1.6]


def test_reading_goes_on_after_a_cursor() -> None:
    double = ServiceDouble()
    with client(double) as tamis:
        subscription = tamis.subscribe("price < 10")
        first = next(subscription.notifications(cursor="40"))
    assert first.cursor == "40"  # this service repeats the last one; a reader that keeps ids would drop it
    assert double.requests[-1].headers["last-event-id"] == "40"


def test_the_asynchronous_client_does_the_same() -> None:
    double = ServiceDouble(lose=1)

    async def use() -> list[int]:
        async with asynchronous(double) as tamis:
            published = await tamis.publish({"price": 1})
            assert published.accepted == 1
            subscription = await tamis.subscribe("price < 10")
            polled = await subscription.poll()
            assert [notification.id for notification in polled] == ["ntf_1"]
            numbers: list[int] = []
            async for notification in subscription.notifications():
                numbers.append(notification.event["price"])
                if len(numbers) == 5:
                    break
            await subscription.renew(timedelta(days=1))
            await subscription.cancel()
            with pytest.raises(ServiceError) as refused:
                await tamis.subscription("sub_2")
            assert refused.value.status == 404
            return numbers

    assert asyncio.run(use()) == [1, 2, 3, 4, 5]


def test_a_replay_begins_at_a_time_or_a_cursor_and_gives_the_cursor_to_read_from() -> None:
    double = ServiceDouble(lose=1)
    with client(double) as tamis:
        subscription = tamis.subscribe("price < 10")
        assert subscription.replay(datetime(2026, 5, 1, 10, tzinfo=UTC)) == "7"
        (since,) = json.loads(double.requests[-1].content).values()
        assert datetime.fromisoformat(since) == datetime(2026, 5, 1, 10, tzinfo=UTC)
        assert double.requests[-1].headers["tamis-ticket"] == "tkt_1"
        assert subscription.replay(cursor="40") == "7"
        assert json.loads(double.requests[-1].content) == {"cursor": "40"}
        with pytest.raises(TypeError, match="one of them"):
            subscription.replay()


def test_notifications_have_what_variables_were_bound_to() -> None:
    with client(ServiceDouble()) as tamis:
        first, second = itertools.islice(tamis.subscribe("mob_pattern(?people)").notifications(), 2)
    assert (first.bindings, second.bindings) == ({"people": 1}, {})


def test_operators_are_listed_by_both_clients() -> None:
    with client(ServiceDouble()) as tamis:
        listed = tamis.operators()

    async def ask() -> list[dict[str, object]]:
        async with asynchronous(ServiceDouble()) as tamis:
            return await tamis.operators()

    assert listed == asyncio.run(ask()) == [{"name": "mob_pattern", "calls": 3}]


def test_times_are_published_as_texts() -> None:
    double = ServiceDouble()
    with client(double) as tamis:
        tamis.publish({"opened": datetime(2026, 2, 1, 10, tzinfo=UTC), "day": datetime(2026, 2, 1).date()})
    assert double.requests[0].content == b'{"opened": "2026-02-01T10:00:00+00:00", "day": "2026-02-01"}'


def test_a_validity_that_is_no_timedelta_is_refused_with_an_example() -> None:
    with (
        client(ServiceDouble()) as tamis,
        pytest.raises(TypeError, match=r"timedelta\(days=7\), or 'forever', not 'P7D'"),
    ):
        tamis.subscribe("price < 10", validity="P7D")  # type: ignore[arg-type]


@pytest.mark.parametrize("made", [Client, AsyncClient])
def test_an_address_without_a_scheme_is_refused_with_the_remedy(made: type[Client | AsyncClient]) -> None:
    with pytest.raises(ServiceUnreachable, match=r"'127.0.0.1:8080' is no address of a service; write http://"):
        made("127.0.0.1:8080")


def test_bytes_are_published_as_base64() -> None:
    double = ServiceDouble()
    with client(double) as tamis:
        tamis.publish({"image": b"hi"})
        tamis.publish([{"image": b"hi"}, {"image": b""}])
        with pytest.raises(TypeError, match="set has no form in JSON"):
            tamis.publish({"image": {1}})
    assert [request.content for request in double.requests] == [
        b'{"image": "aGk="}',
        b'{"image": "aGk="}\n{"image": ""}',
    ]


def test_what_a_path_asks_for_is_sent_with_it() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={})

    with Client("http://tamis.test", transport=httpx.MockTransport(answer)) as client:
        client.send(Request("GET", "/v1/subscriptions?state=active"))
        client.send(Request("GET", "/v1/subscriptions", params={"state": "active"}))
    assert asked == ["http://tamis.test/v1/subscriptions?state=active"] * 2
