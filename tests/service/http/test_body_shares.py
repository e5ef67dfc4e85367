"""Bodies that come at the same time: whose memory it is, and who gives way to whom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive

from tamis.service.base.configuration import AccessSettings, LimitSettings, Settings
from tamis.service.http.bodies import Body, BodyShares
from tests.service.http.server import CHEAP, Server

KEYS = AccessSettings(publish="keys", subscribe="keys")
FORMS = ("/v1/subscriptions", "/v1/filters/check", "/v1/backtests", "/v1/advertisements", "/v1/keys")


@pytest.mark.parametrize("path", ["/v1/events", "/v1/subscriptions"])
@pytest.mark.parametrize("who", ["anyone", "keys"])
def test_bodies_that_stand_still_refuse_nobodys_publish(
    start: Callable[..., Server], path: str, who: Literal["anyone", "keys"]
) -> None:
    limits = LimitSettings(body_bytes=1 << 20, concurrent_bytes=8 << 20)
    server = start(Settings(limits=limits, access=AccessSettings(publish=who, subscribe=who)))
    key = {name.lower(): value for name, value in server.key("publish").items()}
    large = {**CHEAP, "title": "x" * 1_000}
    bodies = [orjson.dumps(events) for events in (CHEAP, large, [large] * 300, large)]

    async def stand_still() -> list[int]:
        stuck = asyncio.Event()
        left = 17
        taken = ((8 << 20) - 600) // left

        def one_less(*_: object) -> None:
            nonlocal left
            left -= 1
            if not left:
                stuck.set()

        def strangers() -> Receive:
            pieces = [b" " * taken]

            async def receive() -> Message:
                if pieces:
                    return {"type": "http.request", "body": pieces.pop(), "more_body": True}
                one_less()
                await asyncio.Event().wait()
                raise AssertionError

            return receive

        held = []
        for _ in range(left):
            held.append(asyncio.create_task(asked(server, path, strangers(), {})))
            # Whoever is refused at once never comes to stand still.
            held[-1].add_done_callback(one_less)
        await asyncio.wait_for(stuck.wait(), 20)
        try:
            return [await asked(server, "/v1/events", whole(one), key) for one in bodies]
        finally:
            for task in held:
                task.cancel()
            await asyncio.gather(*held, return_exceptions=True)

    assert server.client.portal is not None
    assert server.client.portal.call(stand_still) == [202] * len(bodies)


def whole(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


@pytest.mark.parametrize("path", [*FORMS, "/v1/events"])
def test_keys_are_looked_at_before_a_body_is_read(start: Callable[..., Server], path: str) -> None:
    async def ask(headers: dict[str, str]) -> int:
        return await _status_without_body(start(Settings(access=KEYS)), path, headers)

    assert asyncio.run(ask({})) == 401
    assert asyncio.run(ask({"authorization": f"Bearer tk_{'0' * 16}_{'A' * 43}"})) == 401


def test_a_key_without_the_role_is_refused_before_its_body_is_read(start: Callable[..., Server]) -> None:
    server = start(Settings(access=KEYS))
    key = {name.lower(): value for name, value in server.key("publish").items()}
    for path, status in (("/v1/subscriptions", 403), ("/v1/keys", 403)):
        assert asyncio.run(_status_without_body(server, path, key)) == status


def test_a_form_that_says_it_is_too_long_is_not_read(start: Callable[..., Server]) -> None:
    server = start()
    headers = {"content-length": str((4 << 20) + 1)}
    for path in FORMS[:-1]:
        assert asyncio.run(_status_without_body(server, path, headers)) == 413


def test_a_request_with_a_form_counts_once_against_the_rate(start: Callable[..., Server]) -> None:
    server = start(Settings(limits=LimitSettings(requests_per_second=0.01, request_burst=3)))
    asked = [server.client.post("/v1/filters/check", json={"filter": "price < 1"}).status_code for _ in range(4)]
    assert asked == [200, 200, 200, 429]


async def _status_without_body(server: Server, path: str, headers: dict[str, str]) -> int:
    """What is answered to a request whose body must not be asked for."""

    async def receive() -> Message:
        raise AssertionError("the body is read")

    return await asked(server, path, receive, headers)


async def asked(server: Server, path: str, receive: Receive, headers: dict[str, str]) -> int:
    """The status of a POST whose body comes as `receive` has it."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    raw = {"content-type": "application/json", "host": "localhost", **headers}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in raw.items()],
        "client": ("203.0.113.9", 1),
        "server": ("localhost", 80),
        "scheme": "http",
    }
    await server.client.app(scope, receive, send)
    return int(next(one for one in sent if one["type"] == "http.response.start")["status"])


LARGE = 100_000


def body(shares: BodyShares, caller: str, size: int, since: float = 0.0) -> Body:
    """A body of which so much has come, and which has been waited for since then."""
    made = Body(caller, asked=since)
    shares.add(made, size, since)
    return made


def test_the_body_waited_for_longest_gives_way_to_others_of_its_caller() -> None:
    shares = BodyShares(100 * LARGE, 3 * LARGE)
    older, oldest, newer = (body(shares, "a", LARGE, since) for since in (2.0, 1.0, 3.0))
    newest = Body("a")
    assert shares.add(newest, LARGE, 10.0)
    assert [one.given_up for one in (oldest, older, newer, newest)] == [True, False, False, False]
    assert shares.held == 3 * LARGE


def test_what_one_caller_has_too_much_of_is_taken_from_no_other() -> None:
    shares = BodyShares(100 * LARGE, 3 * LARGE)
    other = body(shares, "b", 3 * LARGE)
    mine = [body(shares, "a", LARGE, float(since)) for since in range(1, 20)]
    assert not other.given_up
    assert [one.given_up for one in mine] == [True] * 16 + [False] * 3


def test_where_all_have_too_much_it_is_whoever_has_most_that_gives() -> None:
    shares = BodyShares(10 * LARGE, 6 * LARGE)
    modest = body(shares, "a", LARGE)
    greedy = [body(shares, "b", LARGE, float(since)) for since in range(1, 7)]
    middling = [body(shares, "c", LARGE) for _ in range(3)]
    newest = Body("d")
    assert shares.add(newest, LARGE, 10.0)
    assert [one.given_up for one in greedy] == [True] + [False] * 5
    assert not any(one.given_up for one in (modest, *middling))


def test_a_body_that_is_complete_is_not_given_up_and_large_ones_then_wait() -> None:
    shares = BodyShares(100 * LARGE, 3 * LARGE)
    whole = body(shares, "a", 3 * LARGE)
    whole.complete = True
    large, small = Body("a"), Body("a")
    assert shares.add(small, 1_000, 10.0)
    assert not shares.add(large, LARGE, 10.0)
    assert not whole.given_up
    shares.release(whole)
    assert shares.add(Body("a"), LARGE, 10.0)


def test_small_bodies_are_given_up_last() -> None:
    shares = BodyShares(100 * LARGE, 3 * LARGE)
    small = body(shares, "a", 1_000, since=0.0)
    large = [body(shares, "a", LARGE, since=5.0) for _ in range(3)]
    assert [small.given_up, *(one.given_up for one in large)].count(True) == 1
    assert not small.given_up


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 30), st.integers(0, 200_000), st.booleans(), st.booleans()),
        max_size=80,
    )
)
def test_there_is_never_more_than_the_shares_say(steps: list[tuple[str, int, int, bool, bool]]) -> None:
    total, share = 1_000_000, 500_000
    shares, bodies = BodyShares(total, share), dict[tuple[str, int], Body]()
    for moment, (caller, which, size, complete, ends) in enumerate(steps):
        one = bodies.setdefault((caller, which), Body(caller))
        if not one.given_up and not one.complete:
            one.complete = complete
            one.asked = float(moment)
            assert shares.add(one, size, float(moment)) != one.given_up
        if ends:
            shares.release(bodies.pop((caller, which)))
        held = [body for body in bodies.values() if body.held]
        assert shares.held == sum(body.held for body in held) <= total * 1.25
        for name in "abc":
            assert sum(body.held for body in held if body.caller == name) <= share * 1.25
        assert not any(body.held for body in bodies.values() if body.given_up)
    for one in bodies.values():
        shares.release(one)
    assert shares.held == 0
