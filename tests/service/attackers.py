"""Attacks on a service, each from an address of its own on this machine: what was found to hold others up once.

Each runs in a process of its own, told where the service is, and says what came of it: `held` is whether the service
refused or bounded it, `how` says by what. All sizes are bounded, and nothing but the given address is called.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import pyarrow as pa

HERE: Final = "127.0.0.66"  # where attacks come from
_MB: Final = 1_000_000


@dataclass
class Target:
    """The service under attack, and what its answers were. `administrator` is for what its user does."""

    address: str
    administrator: str
    seconds: float
    answers: Counter[str] = field(default_factory=Counter)
    longest: int = 0  # bytes of an answer

    def __post_init__(self) -> None:
        self.ends = time.monotonic() + self.seconds
        self.client = httpx.AsyncClient(
            base_url=self.address,
            timeout=60,
            transport=httpx.AsyncHTTPTransport(local_address=HERE, limits=httpx.Limits(max_connections=None)),
        )

    @property
    def goes_on(self) -> bool:
        return time.monotonic() < self.ends

    async def ask(self, method: str, path: str, **how: Any) -> httpx.Response:
        """An answer, counted by its status; one that is not wanted any more is counted as `none`."""
        try:
            answer = await self.client.request(method, path, **how)
        except httpx.TransportError:
            self.answers["none"] += 1
            return httpx.Response(599)
        kind = answer.json().get("type", "").rpartition(":")[2] if answer.is_error and answer.content else ""
        self.answers[f"{answer.status_code} {kind}".strip()] += 1
        self.longest = max(self.longest, len(answer.content))
        return answer

    async def subscribe(self, filter: str, **how: Any) -> Any:
        """A subscription, or None if it is refused."""
        answer = await self.ask("POST", "/v1/subscriptions", json={"filter": filter, "validity": "PT10M"}, **how)
        return answer.json() if answer.status_code == 201 else None

    async def cancel(self, *made: Any) -> None:
        for one in made:
            if one is not None:
                await self.ask("DELETE", f"/v1/subscriptions/{one['id']}", headers={"Tamis-Ticket": one["ticket"]})

    def said(self) -> str:
        return ", ".join(f"{count} × {what}" for what, count in sorted(self.answers.items()))


Outcome = tuple[bool, str]
Attack = Callable[[Target], Awaitable[Outcome]]


async def h1_long_pieces(target: Target) -> Outcome:
    """LIKE patterns with hundreds of `_`, and events of a megabyte that almost match them."""
    refused = await target.subscribe(" OR ".join("title LIKE '%" + "a_" * (430 + i) + "b_%'" for i in range(20)))
    # As much as is taken, from several subscriptions.
    filters = [" OR ".join(f"title LIKE '%{'a_' * (240 + i)}b_{n}%'" for i in range(4)) for n in range(10)]
    made = [await target.subscribe(filter) for filter in filters]
    event = {"event_type": "sale", "title": ("a" * 997 + "cab") * 1_000}
    for some in itertools.chain([1, 4], itertools.repeat(1)):
        await target.ask("POST", "/v1/events", json=[event] * some)
        await asyncio.sleep(3)
        if not target.goes_on:
            break
    await target.cancel(refused, *made)
    return refused is None and any(made), f"the filter refused, lighter ones taken ({target.said()})"


def _clauses(count: int) -> str:
    pattern = itertools.count(230)
    return " AND ".join(
        "(" + " OR ".join(f"title LIKE '%{'_a' * next(pattern)}b{n}{k}%'" for k in range(2)) + ")" for n in range(count)
    )


async def h2_explanations(target: Target) -> Outcome:
    """Filters whose normal forms are large, explained on large values, by clients that wait and that hang up."""
    made = await target.subscribe(_clauses(4))

    async def explain(clauses: int, size: int, patience: float) -> None:
        form = {"filter": _clauses(clauses), "event": {"event_type": "sale", "title": "a" * size + "b"}}
        while target.goes_on:
            await target.ask("POST", "/v1/filters/explain", json=form, timeout=patience)
            if made is not None:
                ticket = {"Tamis-Ticket": made["ticket"]}
                path = f"/v1/subscriptions/{made['id']}/test"
                await target.ask("POST", path, json={"event": form["event"]}, headers=ticket, timeout=patience)
            await asyncio.sleep(0.2)

    shapes = [(2, 999_999), (4, 999_999), (8, 999_999), (2, 250_000), (4, 250_000), (8, 250_000)]
    asking = [explain(*shape, patience) for shape in shapes for patience in (1.0, 60.0)]
    await asyncio.gather(*asking)
    await target.cancel(made)
    return True, f"off the process that answers ({target.said()})"


async def h3_long_explanations(target: Target) -> Outcome:
    """Explanations that would quote a large value hundreds of times."""
    filter = " AND ".join(f"(title LIKE '%x{i}%' OR title LIKE '%y{i}%')" for i in range(8))
    while target.goes_on:
        for size in (_MB, 250_000):
            form = {"filter": filter, "event": {"event_type": "sale", "title": "a" * size}}
            await target.ask("POST", "/v1/filters/explain", json=form)
        await asyncio.sleep(0.2)
    return target.longest < 2 * _MB, f"longest answer {target.longest:,} bytes ({target.said()})"


async def h4_column_names(target: Target) -> Outcome:
    """Arrow bodies whose columns have names of megabytes."""
    bodies = [_arrow(3 * _MB, 1_000), _arrow(3 * _MB, 300), _arrow(15 * _MB, 20_000)]
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    while target.goes_on:
        for body in bodies:
            await target.ask("POST", "/v1/events", content=body, headers=headers)
            await asyncio.sleep(0.5)
    return all(not what.startswith(("2", "5")) for what in target.answers), f"refused ({target.said()})"


def _arrow(name: int, rows: int) -> bytes:
    batch = pa.record_batch({"n" * name: pa.array([True] * rows)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writing:
        writing.write_batch(batch)
    return sink.getvalue().to_pybytes()


async def h5_slow_bodies(target: Target) -> Outcome:
    """Bodies that are never finished, and would fill what there is for bodies of all callers together twice."""
    host, _, port = target.address.removeprefix("http://").partition(":")
    closed = Counter[str]()

    async def dawdle(path: str) -> None:
        reader, writer = await asyncio.open_connection(host, int(port), local_addr=(HERE, 0))
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: 16777215\r\n\r\n".encode())
        left = ((256 << 20) - 600) // 17
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(max(1.0, target.ends - time.monotonic())):
                answer = asyncio.create_task(reader.read(64))
                while not answer.done():
                    piece = min(left, 1 << 16) or 1
                    writer.write(b" " * piece)
                    await writer.drain()
                    left -= min(left, piece)
                    await asyncio.wait({answer}, timeout=0.01 if left else 5.0)
                status = answer.result().split(b" ")[1:2]
                closed[status[0].decode() if status else "closed"] += 1
        writer.close()

    await asyncio.gather(*(dawdle(path) for path in ("/v1/subscriptions", "/v1/events") for _ in range(17)))
    return bool(closed), f"{sum(closed.values())} of 34 refused or given up ({dict(closed)})"


async def h6_revoked_keys(target: Target) -> Outcome:
    """The ticket of a subscription whose owner's key has been revoked, where subscribing needs a key."""
    by_hand = {"Authorization": f"Bearer {target.administrator}"}
    key = (await target.ask("POST", "/v1/keys", json={"name": "a", "roles": ["subscribe"]}, headers=by_hand)).json()
    made = await target.subscribe("qty > 0", headers={"Authorization": f"Bearer {key['secret']}"})
    await target.ask("DELETE", f"/v1/keys/{key['id']}", headers=by_hand)
    target.answers.clear()
    path, ticket = f"/v1/subscriptions/{made['id']}", {"Tamis-Ticket": made["ticket"]}
    got_in = []
    while target.goes_on:
        for method, more, form in (
            ("GET", "/notifications", None),
            ("PATCH", "", {"filter": "TRUE"}),
            ("PATCH", "", {"delivery": {"mode": "webhook", "url": "https://192.0.2.1/"}}),
            ("POST", "/renew", {"validity": "P365D"}),
        ):
            answer = await target.ask(method, path + more, json=form, headers=ticket)
            got_in += [f"{method} {more}"] if answer.is_success else []
        await asyncio.sleep(0.5)
    return not got_in, f"got in by {sorted(set(got_in))}" if got_in else f"refused ({target.said()})"


async def m1_repeated_values(target: Target) -> Outcome:
    """A filter of hundreds of conditions on one large value, in notifications."""
    made = await target.subscribe(" AND ".join(f"title LIKE '%{i:03x}%'" for i in range(300)))
    title = "".join(f"{i:03x}" for i in range(300)) + "x" * 899_000
    pages = 0
    while target.goes_on and made is not None:
        await target.ask("POST", "/v1/events", json=[{"event_type": "sale", "title": title}])
        await asyncio.sleep(3)
        path = f"/v1/subscriptions/{made['id']}/notifications"
        answer = await target.ask("GET", path, params={"limit": 1}, headers={"Tamis-Ticket": made["ticket"]})
        pages += bool(answer.json().get("notifications"))
    await target.cancel(made)
    return bool(pages) and target.longest < 2 * _MB, f"longest page {target.longest:,} bytes ({target.said()})"


async def m2_large_messages(target: Target) -> Outcome:
    """Messages of 15 MB of zeros over WebSockets, deflated where the service agrees to that."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import WebSocketException

    made = await target.subscribe("qty > 1000000000")
    url = f"{target.address.replace('http', 'ws')}/v1/subscriptions/{made['id']}/socket"

    async def talk() -> None:
        while target.goes_on:
            try:
                headers = {"Tamis-Ticket": made["ticket"]}
                async with connect(url, additional_headers=headers, local_addr=(HERE, 0), max_size=None) as socket:
                    target.answers["deflated" if socket.protocol.extensions else "not deflated"] += 1
                    await socket.send(bytes(15 * _MB))
                    await socket.wait_closed()
                    target.answers[f"closed with {socket.close_code}"] += 1
            except (WebSocketException, OSError, TimeoutError) as error:
                target.answers[type(error).__name__] += 1
            await asyncio.sleep(0.5)

    await asyncio.gather(*(talk() for _ in range(4)))
    await target.cancel(made)
    return not target.answers["deflated"], f"closed ({target.said()})"


async def m3_all_places(target: Target) -> Outcome:
    """One caller without a key takes all it can of backtests, advertisements, readers and examiners."""
    most = min(6_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
    made = await target.subscribe("qty > 1000000000")
    path, ticket = f"/v1/subscriptions/{made['id']}/stream", {"Tamis-Ticket": made["ticket"]}
    held: Counter[str] = Counter()

    async def read() -> None:
        with suppress(httpx.TransportError):
            async with target.client.stream("GET", path, headers=ticket) as answer:
                held[str(answer.status_code)] += 1
                if answer.is_success:
                    await asyncio.sleep(max(0.0, target.ends - time.monotonic()))

    for _ in range(20):
        await target.ask("POST", "/v1/backtests", json={"filter": "qty > 5"})
    for n in range(600):
        form = {"event_type": "sale", "filter": f"qty = {n}", "validity": "PT10M"}
        await target.ask("POST", "/v1/advertisements", json=form)
    readers: list[asyncio.Task[None]] = []
    while target.goes_on and len(readers) < most and not held["503"]:
        readers += [asyncio.create_task(read()) for _ in range(50)]
        await asyncio.sleep(0.25)
    await asyncio.gather(*readers)
    await target.cancel(made)
    refused = target.answers["429 limit"] and target.answers["403 limit"] and held["429"]
    return bool(refused), f"readers {dict(held)}, {target.said()}"


async def m4_many_addresses(target: Target) -> Outcome:
    """Requests from all over one IPv6 network, as a proxy hands them on."""
    number = itertools.count()

    async def flood() -> None:
        while target.goes_on:
            headers = {"X-Forwarded-For": f"2001:db8:1:2::{next(number):x}"}
            await target.ask("GET", "/v1/subscriptions/sub_AAAAAAAAAAAAAAAAAAAAAA", headers=headers)
            await asyncio.sleep(0.02)

    await asyncio.gather(*(flood() for _ in range(5)))
    return bool(target.answers["429 rate"]), f"by network ({target.said()})"


ATTACKS: Final[dict[str, Attack]] = {
    "H1": h1_long_pieces,
    "H2": h2_explanations,
    "H3": h3_long_explanations,
    "H4": h4_column_names,
    "H5": h5_slow_bodies,
    "H6": h6_revoked_keys,
    "M1": m1_repeated_values,
    "M2": m2_large_messages,
    "M3": m3_all_places,
    "M4": m4_many_addresses,
}


async def _run(name: str, target: Target) -> Outcome:
    try:
        return await ATTACKS[name](target)
    finally:
        await target.client.aclose()


def main() -> None:
    """Runs one attack on the service at an address; the administrator's key comes by standard input."""
    asked = argparse.ArgumentParser()
    asked.add_argument("name", choices=ATTACKS)
    asked.add_argument("address")
    asked.add_argument("seconds", type=float)
    given = asked.parse_args()
    if not given.address.startswith("http://127.0.0."):
        raise SystemExit("attacks are for services of this machine")
    # Attackers have machines of their own: what they compute must not be taken from the service.
    os.nice(10)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held, how = asyncio.run(_run(given.name, Target(given.address, input(), given.seconds)))
    sys.stdout.write(json.dumps({"held": held, "how": how}))


if __name__ == "__main__":
    main()
