"""What an event changed in a join goes along with its notification, whichever way it takes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from websockets.asyncio.client import connect

from tamis.service.base.events import Notification
from tamis.service.delivery.channels import Undelivered
from tamis.service.delivery.matched import structured_event
from tamis.service.store import JoinWrites, Opening, Store
from tamis.service.store.joins import changed_text
from tests.service.delivery.made import NOON, WEBHOOK, Running, Told, run, subscribed
from tests.service.delivery.site import next_event, site

WRITTEN = changed_text([("removed", "res_1", '{"x":1}'), ("added", "res_1", '{"x":"☃\\n"}')], begins=True)
CHANGES = [
    {"change": "begins"},
    {"change": "removed", "id": "res_1", "row": {"x": 1}},
    {"change": "added", "id": "res_1", "row": {"x": "☃\n"}},
]


def opened(store: Store, number: int) -> None:
    store.joins.open(JoinWrites(), [Opening(number, "cnt_1", WRITTEN)])


def test_readers_get_the_changes_by_every_way_of_reading(store: Store) -> None:
    async def read() -> None:
        async with site(store) as here:
            owner, key = here.key("subscribe")
            made, ticket = here.subscribe(owner)
            store.subscriptions.replace(made.id, kind="join", text="SELECT 1", filter="SELECT 1")
            path = f"/v1/subscriptions/{made.id}"
            opened(store, made.number)
            here.running.delivery.wake(store.notifications.head())
            for order in ("oldest", "newest"):
                answer = await here.http.get(f"{path}/notifications", headers=ticket, params={"order": order})
                (one,) = answer.json()["notifications"]
                assert (one["changes"], one["matched"], one["event"]) == (CHANGES, [], {})
            for place, headers in ((f"{path}/stream", ticket), ("/v1/stream", {**key, "Last-Event-ID": "0"})):
                async with here.http.stream("GET", place, headers=headers) as streamed:
                    lines = streamed.aiter_lines()
                    await next_event(lines)
                    assert json.loads((await next_event(lines))["data"])["changes"] == CHANGES
            address = f"ws://127.0.0.1:{here.port}{path}/socket?cursor=0&ticket={ticket['Tamis-Ticket']}"
            async with connect(address) as socket:
                assert json.loads(await socket.recv())["changes"] == CHANGES

    run(read())


def test_what_is_pushed_has_them_also_when_a_dead_letter_is_sent_again(store: Store) -> None:
    async def push() -> None:
        refused = [Undelivered("no", fault=False) for _ in range(2)]
        async with Running(store, Told(*refused), attempts=1) as running:
            made = subscribed(store, delivery=WEBHOOK, kind="join")
            await running.delivery.notice_changes()
            opened(store, made.number)
            running.delivery.wake(store.notifications.head())
            sent = await running.channel.next()
            assert (json.loads(sent.body)["changes"], sent.changes) == (CHANGES, WRITTEN)
            while not (letters := store.dead_letters.list(None)):
                await asyncio.sleep(0)
            running.channel.answers.clear()
            await running.delivery.replay(letters[0])
            again = await running.channel.next()
            assert (again.body, json.loads(again.changes or "")) == (sent.body, CHANGES)

    run(push())


def test_a_cloudevent_has_them_as_an_extension_attribute() -> None:
    subscription: Any = None
    notification = Notification("ntf", subscription, 1, "evt", NOON, "{}", b"{}", None, WRITTEN)
    event = json.loads(structured_event(notification))
    assert json.loads(event["tamischanges"]) == CHANGES
    assert "tamisbindings" not in event
