"""What variables were bound to goes along with a notification, whichever way it takes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from websockets.asyncio.client import connect

from tamis.service.base.events import Notification
from tamis.service.delivery.channels import Undelivered
from tamis.service.delivery.matched import structured_event
from tamis.service.store import Store
from tests.service.delivery.made import NOON, WEBHOOK, Running, Told, cheap, run, subscribed
from tests.service.delivery.site import next_event, site

BOUND = {"people": 57, "place": "Bronx\n☃", "at": "2026-05-01T10:00:00+00:00"}
WRITTEN = json.dumps(BOUND)


def test_readers_get_the_bindings_by_every_way_of_reading(store: Store) -> None:
    async def read() -> None:
        async with site(store) as here:
            owner, key = here.key("subscribe")
            made, ticket = here.subscribe(owner)
            path = f"/v1/subscriptions/{made.id}"
            here.running.record(1, [(cheap()[0], [made.number])])
            here.running.record(2, [(cheap()[0], [made.number])], WRITTEN)
            for order in ("oldest", "newest"):
                answer = await here.http.get(f"{path}/notifications", headers=ticket, params={"order": order})
                shown = {one["cursor"]: one.get("bindings") for one in answer.json()["notifications"]}
                assert list(dict(sorted(shown.items())).values()) == [None, BOUND]
            for place, headers in ((f"{path}/stream", ticket), ("/v1/stream", {**key, "Last-Event-ID": "0"})):
                async with here.http.stream("GET", place, headers=headers) as streamed:
                    lines = streamed.aiter_lines()
                    await next_event(lines)
                    first, second = [json.loads((await next_event(lines))["data"]) for _ in range(2)]
                    assert ("bindings" in first, second["bindings"]) == (False, BOUND)
            address = f"ws://127.0.0.1:{here.port}{path}/socket?cursor=0&ticket={ticket['Tamis-Ticket']}"
            async with connect(address) as socket:
                await socket.recv()
                assert json.loads(await socket.recv())["bindings"] == BOUND

    run(read())


def test_what_is_pushed_has_them_also_when_a_dead_letter_is_sent_again(store: Store) -> None:
    async def push() -> None:
        refused = [Undelivered("no", fault=False) for _ in range(2)]
        async with Running(store, Told(*refused), attempts=1) as running:
            made = subscribed(store, delivery=WEBHOOK)
            await running.delivery.notice_changes()
            running.record(1, [(cheap()[0], [made.number])], WRITTEN)
            sent = await running.channel.next()
            assert (json.loads(sent.body)["bindings"], sent.bindings) == (BOUND, WRITTEN)
            while not (letters := store.dead_letters.list(None)):
                await asyncio.sleep(0)
            running.channel.answers.clear()
            await running.delivery.replay(letters[0])
            again = await running.channel.next()
            assert (again.body, json.loads(again.bindings or "")) == (sent.body, BOUND)

    run(push())


def test_a_cloudevent_has_them_as_an_extension_attribute() -> None:
    def structured(event: dict[str, Any], bindings: str | None) -> Any:
        subscription: Any = None
        notification = Notification("ntf", subscription, 1, "evt", NOON, json.dumps(event), b"{}", bindings)
        return json.loads(structured_event(notification))

    published = {"ce": {"id": "1", "source": "/a", "type": "b", "specversion": "1.0"}, "price": 3}
    for event in (published, {"price": 3}):
        assert json.loads(structured(event, WRITTEN)["tamisbindings"]) == BOUND
        assert "tamisbindings" not in structured(event, None)
