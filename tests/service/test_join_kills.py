"""A real server killed while it joins: contents and followers come out as the oracle says."""

from __future__ import annotations

import threading
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
import yaml

from benchmarks.service.server import Server, kill_process
from tamis.client import Client, Subscription
from tamis.joins.naive import NaiveJoins
from tests.service.worker.exchange import ALL_THREE, FORM, PRAISED, SCHEMA, drawn, shown

pytestmark = [pytest.mark.slow, pytest.mark.spark]

KILLS = ("the service", "tamis.service.worker", "the service", "java")


def test_contents_survive_kills_of_the_service_and_of_spark(tmp_path: Path) -> None:
    schema = tmp_path / "schema.yaml"
    schema.write_text(yaml.safe_dump(FORM, sort_keys=False), encoding="utf-8")
    random, past = Random(7), list[dict[str, Any]]()
    with Server(tmp_path / "state", schema) as server:
        server.wait_until_ready()
        with Client(server.url) as client:
            followed = {text: client.subscribe(text) for text in (PRAISED, ALL_THREE)}
            following = [Following(server.url, one) for one in followed.values()]
            for life, victim in enumerate((*KILLS, "")):
                # So late that some of it is matched before the kill, some after, and some while it happens.
                for place in range(6):
                    events = drawn(random, 8, 48 * life + 8 * place)
                    client.publish(events)
                    past += events
                if life == 1:
                    followed["late"] = client.subscribe(PRAISED)
                    following.append(Following(server.url, followed["late"]))
                _kill(server, victim)
            server.wait_until_ready()
            due = {name: _due(past, PRAISED if name == "late" else name) for name in followed}
            server.wait_for(lambda: {name: _rows(one) for name, one in followed.items()} == due, "the contents")
            server.wait_for(lambda: [one.rows for one in following] == list(due.values()), "all to be told")
            assert any(due.values())


def _kill(server: Server, victim: str) -> None:
    if victim == "the service":
        server.kill()
        server.start()
        server.wait_for(lambda: _is_up(server.url), "the service to be back")
    elif victim:
        server.wait_until_ready()
        found = [pid for pid, command in server.descendants() if victim in command.split(" -cp ")[0]]
        kill_process(found[0])


def _is_up(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").is_success
    except httpx.TransportError:
        return False


def _due(past: list[dict[str, Any]], text: str) -> dict[str, Any]:
    oracle = NaiveJoins(SCHEMA, {"it": text})
    oracle.apply(past)
    return shown(oracle, "it")


def _rows(subscription: Subscription) -> dict[str, Any]:
    return dict(subscription.content().rows)


class Following:
    """Somebody who keeps the content as a table, by what is told."""

    def __init__(self, url: str, subscription: Subscription) -> None:
        self.rows: dict[str, Any] = {}
        self._url = url
        self._begun = threading.Event()
        threading.Thread(target=self._follow, args=(subscription.id, subscription.ticket), daemon=True).start()
        assert self._begun.wait(60)

    def _follow(self, id: str, ticket: str) -> None:
        with Client(self._url) as client:
            for table in client.subscription(id, ticket).table():
                self.rows = dict(table.rows)
                self._begun.set()
