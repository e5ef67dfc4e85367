"""Reading over sockets: a message for each notification, from a cursor on."""

from __future__ import annotations

import json

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tamis.service.store import Store
from tests.service.delivery.made import cheap, run
from tests.service.delivery.site import site


def test_a_socket_has_a_message_for_each_and_takes_a_cursor(store: Store) -> None:
    async def listen() -> None:
        async with site(store) as here:
            made, ticket = here.subscribe()
            first, second = here.running.record(1, [(event, [made.number]) for event in cheap(2)])
            url = f"ws://127.0.0.1:{here.port}/v1/subscriptions/{made.id}/socket"
            async with connect(url, additional_headers=ticket) as socket:
                await socket.send(json.dumps({"cursor": str(first)}))
                assert json.loads(await socket.recv())["cursor"] == str(second)
                (third,) = here.running.record(2, [(cheap()[0], [made.number])])
                assert json.loads(await socket.recv())["cursor"] == str(third)
            async with connect(f"{url}?cursor={second}&ticket={ticket['Tamis-Ticket']}") as socket:
                assert json.loads(await socket.recv())["cursor"] == str(third)
                store.subscriptions.cancel(made.id)
                await here.running.delivery.notice_changes()
                with pytest.raises(ConnectionClosed) as closed:
                    await socket.recv()
                assert closed.value.rcvd is not None
                assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1000, "the subscription is cancelled")

    run(listen())


@pytest.mark.parametrize("hello", ["nonsense", "[]", '{"cursor": 5}', '{"cursor": "x"}', "{" + " " * 500 + "}"])
def test_a_socket_refuses_a_first_message_that_is_none(store: Store, hello: str) -> None:
    async def listen() -> None:
        async with site(store) as here:
            made, ticket = here.subscribe()
            url = f"ws://127.0.0.1:{here.port}/v1/subscriptions/{made.id}/socket"
            async with connect(url, additional_headers=ticket) as socket:
                await socket.send(hello)
                with pytest.raises(ConnectionClosed) as closed:
                    await socket.recv()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 1008

    run(listen())


def test_a_socket_of_all_goes_on_from_the_middle_of_an_event(store: Store) -> None:
    async def listen() -> None:
        async with site(store) as here:
            owner, key = here.key("subscribe")
            made = [here.subscribe(owner)[0] for _ in range(3)]
            here.running.record(1, [(cheap()[0], [one.number for one in made])])
            url = f"ws://127.0.0.1:{here.port}/v1/socket"
            async with connect(f"{url}?cursor=0", additional_headers=key) as socket:
                first = json.loads(await socket.recv())
            async with connect(f"{url}?cursor={first['cursor']}", additional_headers=key) as socket:
                rest = [json.loads(await socket.recv())["subscription"] for _ in range(2)]
            assert [first["subscription"], *rest] == [one.id for one in made]

    run(listen())
