"""Reading over HTTP: polling, event streams and dead letters, each only for whom they are meant."""

from __future__ import annotations

import asyncio
import json

import pytest
from fastapi import FastAPI
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tamis.service.base.configuration import LimitSettings
from tamis.service.delivery.channels import Undelivered
from tamis.service.http.notifications import router
from tamis.service.store import Store
from tests.service.delivery.made import WEBHOOK, Running, Told, cheap, record, run, subscribed
from tests.service.delivery.site import next_event, site


def test_polling_goes_on_from_the_cursor(store: Store) -> None:
    async def poll() -> None:
        async with site(store) as here:
            made, ticket = here.subscribe()
            path = f"/v1/subscriptions/{made.id}/notifications"
            positions = here.running.record(1, [(event, [made.number]) for event in cheap(5)])
            first = (await here.http.get(path, headers=ticket, params={"limit": 3})).json()
            assert [one["cursor"] for one in first["notifications"]] == [str(at) for at in positions[:3]]
            assert (first["cursor"], first["state"], first["more"]) == (str(positions[2]), "active", True)
            one = first["notifications"][0]
            assert one["event"] == {"price": 9.5}
            assert one["matched"] == [{"condition": "price < 10", "values": {"price": [9.5]}}]
            assert one["subscription"] == made.id
            rest = (await here.http.get(path, headers=ticket, params={"cursor": first["cursor"]})).json()
            assert [one["cursor"] for one in rest["notifications"]] == [str(at) for at in positions[3:]]
            last = (await here.http.get(path, headers=ticket, params={"cursor": rest["cursor"]})).json()
            assert last == {"notifications": [], "cursor": rest["cursor"], "state": "active", "more": False}

    run(poll())


def test_a_notification_is_not_much_longer_than_its_event_however_many_conditions_held(store: Store) -> None:
    async def poll() -> None:
        async with site(store) as here:
            text = " AND ".join(f"title LIKE '%{i:03x}%'" for i in range(300))
            made, ticket = here.subscribe()
            store.subscriptions.replace(made.id, text=text, filter=text)
            title = "".join(f"{i:03x}" for i in range(300)) * 1_000
            here.running.record(1, [(json.dumps({"title": title}), [made.number])])
            path = f"/v1/subscriptions/{made.id}/notifications"
            answer = await here.http.get(path, headers=ticket)
            assert len(answer.content) < len(title) + 50_000
            (one,) = answer.json()["notifications"]
            assert one["event"] == {"title": title}
            quoted = [condition["values"]["title"] for condition in one["matched"]]
            assert quoted == [[f"{title[:200]}… (900,000 characters)"]] + 299 * [
                [f"{title[:20]}… (900,000 characters)"]
            ]

    run(poll())


def test_people_read_from_the_newest_back(store: Store) -> None:
    async def poll() -> None:
        async with site(store) as here:
            made, ticket = here.subscribe()
            at = here.running.record(1, [(event, [made.number]) for event in cheap(5)])
            path = f"/v1/subscriptions/{made.id}/notifications"
            seen, cursor, more = [], "", True
            while more:
                page = (await here.http.get(f"{path}?order=newest&limit=2&cursor={cursor}", headers=ticket)).json()
                seen += [one["cursor"] for one in page["notifications"]]
                cursor, more = page["cursor"], page["more"]
            assert seen == [str(position) for position in reversed(at)]
            page = (await here.http.get(f"{path}?order=newest&cursor={cursor}", headers=ticket)).json()
            assert (page["notifications"], page["more"]) == ([], False)
            assert here.running.delivery.status()["handed_out"] == 0
            page = (await here.http.get(f"{path}?cursor={page['cursor']}", headers=ticket)).json()
            assert len(page["notifications"]) == 5, "the other way round, everything is still to come"

    run(poll())


def test_a_poll_can_wait_for_the_first(store: Store) -> None:
    async def poll() -> None:
        async with site(store) as here:
            made, ticket = here.subscribe()
            path = f"/v1/subscriptions/{made.id}/notifications"
            asking = asyncio.create_task(here.http.get(path, headers=ticket, params={"wait": 30}))
            while not here.running.delivery.status()["listeners"]:
                await asyncio.sleep(0)
            here.running.record(1, [(cheap()[0], [made.number])])
            assert len((await asking).json()["notifications"]) == 1
            assert here.running.delivery.status()["listeners"] == 0

    run(poll())


def test_what_matched_before_the_end_can_be_polled_after_expiry_but_not_after_cancelling(store: Store) -> None:
    async def poll() -> None:
        async with site(store) as here:
            made, ticket = here.subscribe()
            here.running.record(1, [(cheap()[0], [made.number])])
            path = f"/v1/subscriptions/{made.id}"
            store.subscriptions.replace(made.id, state="paused")
            paused = (await here.http.get(f"{path}/notifications", headers=ticket)).json()
            assert (paused["state"], paused["notifications"]) == ("paused", [])
            store.subscriptions.replace(made.id, state="expired")
            expired = (await here.http.get(f"{path}/notifications", headers=ticket)).json()
            assert (expired["state"], len(expired["notifications"])) == ("expired", 1)
            assert (await here.http.get(f"{path}/stream", headers=ticket)).status_code == 410
            store.subscriptions.cancel(made.id)
            assert (await here.http.get(f"{path}/notifications", headers=ticket)).status_code == 410

    run(poll())


def test_a_stream_has_what_was_and_what_comes_and_goes_on_from_the_last_id(store: Store) -> None:
    async def stream() -> None:
        async with site(store) as here:
            made, ticket = here.subscribe()
            before = here.running.record(1, [(event, [made.number]) for event in cheap(2)])
            path = f"/v1/subscriptions/{made.id}/stream"
            async with here.http.stream("GET", path, headers=ticket) as answer:
                assert answer.headers["content-type"].startswith("text/event-stream")
                lines = answer.aiter_lines()
                assert await next_event(lines) == {"retry": "2000"}
                events = [await next_event(lines) for _ in before]
                after = here.running.record(2, [(event, [made.number]) for event in cheap(2)])
                events += [await next_event(lines) for _ in after]
            assert [event["id"] for event in events] == [str(at) for at in before + after]
            assert [json.loads(event["data"])["cursor"] for event in events] == [event["id"] for event in events]
            again = {**ticket, "Last-Event-ID": events[1]["id"]}
            async with here.http.stream("GET", path, headers=again) as answer:
                lines = answer.aiter_lines()
                await next_event(lines)
                assert [await next_event(lines) for _ in after] == events[2:]
            latest = {"cursor": "latest", "ticket": ticket["Tamis-Ticket"]}
            async with here.http.stream("GET", path, params=latest) as answer:
                lines = answer.aiter_lines()
                await next_event(lines)
                (newest,) = here.running.record(3, [(cheap()[0], [made.number])])
                assert (await next_event(lines))["id"] == str(newest)
            while here.running.delivery.status()["listeners"]:
                await asyncio.sleep(0)

    run(stream())


def test_a_silent_stream_shows_that_it_lives_and_ends_with_its_subscription(store: Store) -> None:
    async def stream() -> None:
        async with site(store, heartbeat=0.01) as here:
            made, ticket = here.subscribe()
            async with here.http.stream("GET", f"/v1/subscriptions/{made.id}/stream", headers=ticket) as answer:
                lines = answer.aiter_lines()
                while await anext(lines) != ":":
                    pass
                store.subscriptions.cancel(made.id)
                await here.running.delivery.notice_changes()
                assert ": cancelled" in [line async for line in lines]

    run(stream())


def test_a_key_follows_all_its_own_and_an_administrator_everybodys(store: Store) -> None:
    async def stream() -> None:
        async with site(store) as here:
            (one, one_key), (other, other_key) = here.key("subscribe"), here.key("subscribe")
            _, admin = here.key("administer")
            first, second, third = (here.subscribe(owner)[0] for owner in (one, one, other))

            async def seen(key: dict[str, str], count: int) -> list[str]:
                async with here.http.stream("GET", "/v1/stream", headers={**key, "Last-Event-ID": "0"}) as answer:
                    lines = answer.aiter_lines()
                    await next_event(lines)
                    events = [await next_event(lines) for _ in range(count)]
                    resumed = {**key, "Last-Event-ID": events[0]["id"]}
                    async with here.http.stream("GET", "/v1/stream", headers=resumed) as again:
                        rest = again.aiter_lines()
                        await next_event(rest)
                        assert [await next_event(rest) for _ in events[1:]] == events[1:]
                    return [json.loads(event["data"])["subscription"] for event in events]

            here.running.record(1, [(cheap()[0], [first.number, second.number, third.number])])
            assert await seen(one_key, 2) == [first.id, second.id]
            assert await seen(other_key, 1) == [third.id]
            assert await seen(admin, 3) == [first.id, second.id, third.id]
            assert (await here.http.get("/v1/stream")).status_code == 401

    run(stream())


def test_only_what_subscribers_read_is_counted_as_delivered(store: Store) -> None:
    async def read() -> None:
        async with site(store) as here:
            owner, key = here.key("subscribe")
            boss, admin = here.key("administer")
            own, ticket = here.subscribe(owner)
            here.subscribe(boss)
            made = store.subscriptions.list(None)
            here.running.record(1, [(event, [one.number for one in made]) for event in cheap(3)])

            async def counted(path: str, headers: dict[str, str], count: int) -> int:
                """By how many the count has grown once everything was read, in each of the three ways."""
                before = here.running.delivery.status()["handed_out"]
                async with here.http.stream("GET", path, headers=headers) as answer:
                    lines = answer.aiter_lines()
                    for _ in range(1 + count):
                        await next_event(lines)
                while here.running.delivery.status()["listeners"]:
                    await asyncio.sleep(0)
                url = f"ws://127.0.0.1:{here.port}{path.replace('stream', 'socket')}"
                async with connect(url, additional_headers=headers) as socket:
                    for _ in range(count):
                        await socket.recv()
                while here.running.delivery.status()["listeners"]:
                    await asyncio.sleep(0)
                if "subscriptions" in path:
                    page = (await here.http.get(path.replace("stream", "notifications"), headers=headers)).json()
                    assert len(page["notifications"]) == count
                return here.running.delivery.status()["handed_out"] - before

            one = f"/v1/subscriptions/{own.id}/stream?cursor=0"
            assert await counted(one, ticket, 3) == 9
            assert await counted(one, key, 3) == 9
            assert await counted(one, admin, 3) == 0, "an administrator looks on"
            for subscriber in (ticket, key):
                assert await counted(f"{one}&observe=true", subscriber, 3) == 0
            assert await counted("/v1/stream?cursor=0", key, 3) == 6
            assert await counted("/v1/stream?cursor=0", admin, 6) == 6, "half of everybody's is the administrator's"
            for reader, count in ((key, 3), (admin, 6)):
                assert await counted("/v1/stream?cursor=0&observe=true", reader, count) == 0

    run(read())


def test_nobody_reads_what_is_anothers(store: Store) -> None:
    async def ask() -> None:
        async with site(store) as here:
            one, _ = here.key("subscribe")
            _, other_key = here.key("subscribe", "publish")
            mine, _ = here.subscribe(one)
            _, other_ticket = here.subscribe()
            unknown = "sub_" + "x" * 22
            for headers in ({}, other_key, other_ticket):
                for what in ("notifications", "stream"):
                    found = await here.http.get(f"/v1/subscriptions/{mine.id}/{what}", headers=headers)
                    missing = await here.http.get(f"/v1/subscriptions/{unknown}/{what}", headers=headers)
                    assert found.status_code == missing.status_code == 404
                    assert found.json() == missing.json()
                with pytest.raises(InvalidStatus):
                    await connect(
                        f"ws://127.0.0.1:{here.port}/v1/subscriptions/{mine.id}/socket", additional_headers=headers
                    )

    run(ask())


@pytest.mark.parametrize("cursor", ["abc", "-1", "1e3", "9" * 30])
def test_what_is_no_cursor_is_refused_with_a_reason(store: Store, cursor: str) -> None:
    async def ask() -> None:
        async with site(store) as here:
            made, ticket = here.subscribe()
            for what in ("notifications", "stream"):
                path = f"/v1/subscriptions/{made.id}/{what}"
                assert (await here.http.get(path, headers=ticket, params={"cursor": cursor})).status_code == 422

    run(ask())


def test_there_is_room_for_so_many_readers_and_no_more(store: Store) -> None:
    async def ask() -> None:
        async with site(store, limits=LimitSettings(listeners=1)) as here:
            made, ticket = here.subscribe()
            path = f"/v1/subscriptions/{made.id}/stream"
            async with here.http.stream("GET", path, headers=ticket) as answer:
                lines = answer.aiter_lines()
                await next_event(lines)
                while not here.running.delivery.status()["listeners"]:
                    await asyncio.sleep(0)
                refused = await here.http.get(path, headers=ticket)
                assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")

    run(ask())


def test_dead_letters_are_their_owners_and_can_be_sent_again(store: Store) -> None:
    async def replay() -> None:
        down = [Undelivered("answered 500")] * 2
        async with site(store, Told(*down), attempts=1) as here:
            (owner, key), (_, other), (_, admin) = here.key("subscribe"), here.key("subscribe"), here.key("administer")
            hook, _ = here.subscribe(owner, delivery=WEBHOOK)
            store.dead_letters.add("event", "evt_1", "", "attribute 'price': 'dear' is not a number", "{}")
            await here.running.delivery.notice_changes()
            here.running.record(1, [(cheap()[0], [hook.number])])
            await here.running.channel.next()
            while not (letters := (await here.http.get("/v1/dead-letters", headers=key)).json()["dead_letters"]):
                pass
            (letter,) = letters
            assert (letter["subject"], letter["reason"]) == (hook.id, "answered 500")
            assert (await here.http.get("/v1/dead-letters", headers=other)).json()["dead_letters"] == []
            assert (await here.http.get("/v1/dead-letters")).status_code == 401
            everybodys = (await here.http.get("/v1/dead-letters", headers=admin, params={"limit": 1})).json()
            assert everybodys["next"] == everybodys["dead_letters"][0]["id"]
            path = f"/v1/dead-letters/{letter['id']}"
            assert (await here.http.post(f"{path}/replay", headers=other)).status_code == 404
            assert (await here.http.delete(path, headers=other)).status_code == 404
            failed = await here.http.post(f"{path}/replay", headers=key)
            assert (failed.status_code, "answered 500" in failed.json()["detail"]) == (502, True)
            assert (await here.http.post(f"{path}/replay", headers=key)).json() == {"delivered": True}
            assert (await here.http.post(f"{path}/replay", headers=key)).status_code == 404
            (event,) = (await here.http.get("/v1/dead-letters", headers=admin)).json()["dead_letters"]
            path = f"/v1/dead-letters/{event['id']}"
            assert (await here.http.post(f"{path}/replay", headers=admin)).status_code == 409
            assert (await here.http.delete(path, headers=admin)).status_code == 204
            assert store.dead_letters.count() == 0

    run(replay())


def test_strange_bodies_are_delivered_as_json_all_the_same(store: Store) -> None:
    async def poll() -> None:
        async with site(store) as here:
            made, ticket = here.subscribe()
            strange = [
                '{"price": NaN}',
                '{"price": 1e400, "n": 123456789012345678901234567890}',
                "[" * 2000 + "]" * 2000,
            ]
            here.running.record(1, [(text, [made.number]) for text in strange])
            found = (await here.http.get(f"/v1/subscriptions/{made.id}/notifications", headers=ticket)).json()
            events = [one["event"] for one in found["notifications"]]
            assert events == [{"price": None}, {"price": None, "n": 123456789012345678901234567890}, strange[2]]

    run(poll())


def test_an_event_of_several_lines_is_one_event_of_a_stream(store: Store) -> None:
    async def stream() -> None:
        async with site(store) as here:
            made, ticket = here.subscribe()
            here.running.record(1, [('{"price":\r1,\n\r\n"title": "a\\r"}', [made.number])])
            async with here.http.stream("GET", f"/v1/subscriptions/{made.id}/stream", headers=ticket) as answer:
                lines = answer.aiter_lines()
                await next_event(lines)
                assert json.loads((await next_event(lines))["data"])["event"] == {"price": 1, "title": "a\r"}

    run(stream())


def test_webhooks_and_readers_of_one_subscription_do_not_disturb_each_other(store: Store) -> None:
    async def both() -> None:
        hook = subscribed(store, delivery=WEBHOOK)
        positions = record(store, 1, [(event, [hook.number]) for event in cheap(3)])
        async with Running(store) as running, running.delivery.listen(hook.number, None) as feed:
            assert [one.position for one in await feed.take()] == positions
            assert [(await running.channel.next()).position for _ in positions] == positions

    run(both())


def test_what_comes_between_asking_for_a_stream_and_its_first_byte_is_in_it(store: Store) -> None:
    async def between() -> None:
        found = subscribed(store)
        async with Running(store) as running:
            one = running.delivery.listen(found.number, "latest")
            many = running.delivery.listen_to_all(None, None)
            positions = running.record(1, [(event, [found.number]) for event in cheap(2)])
            async with running.delivery.listen_to_all(None, "0") as before:
                assert [come.position for come in await before.take()] == positions
            async with one as feed, many as wide:
                assert [come.position for come in await feed.take()] == positions
                assert [come.position for come in await wide.take()] == positions

    run(between())


def test_the_routes_are_described() -> None:
    app = FastAPI()
    app.include_router(router)
    paths = app.openapi()["paths"]
    for path in ("/v1/stream", "/v1/subscriptions/{id}/stream"):
        assert "text/event-stream" in paths[path]["get"]["responses"]["200"]["content"]
    assert {"get", "post", "delete"} == {method for path in paths if "dead" in path for method in paths[path]}
