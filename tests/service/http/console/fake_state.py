"""What the fake service knows: auction events, subscriptions, keys, dead letters; all in memory, all made up."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tamis.schema import Schema
from tamis.workloads.auction_lots import auction_schema, interests, lots

ADMINISTRATOR = "tk_admin_secret"
SUBSCRIBER = "tk_reader_secret"
TICKET = "tkt_fits"

_STATES = ("active", "active", "active", "paused", "expired", "cancelled")


@dataclass
class State:
    """One fake service. `needs_key`: whether everything asks for a key. `broken`: paths that answer 503.

    `stream_length`: after how many notifications a stream breaks off; `resumed`: the Last-Event-IDs it was asked with.
    """

    needs_key: bool = True
    subscriptions: list[dict[str, Any]] = field(default_factory=lambda: _subscriptions(60))
    events: list[dict[str, Any]] = field(default_factory=lambda: list(itertools.islice(lots(3), 40)))
    letters: list[dict[str, Any]] = field(default_factory=lambda: _letters())
    keys: list[dict[str, Any]] = field(default_factory=lambda: _keys())
    schema: Schema = field(default_factory=auction_schema)
    schema_version: int = 1
    broken: set[str] = field(default_factory=set)
    operators: list[dict[str, Any]] = field(default_factory=lambda: _operators())
    network: dict[str, Any] = field(default_factory=lambda: _network())
    backtests: dict[str, dict[str, Any]] = field(default_factory=dict)
    pipeline: dict[str, Any] = field(default_factory=lambda: {"state": "running", "restarts": 1, "error": None})
    stream_length: int | None = None
    resumed: list[str | None] = field(default_factory=list)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    started: float = field(default_factory=time.time)

    def found(self, id: str) -> dict[str, Any] | None:
        return next((each for each in self.subscriptions if each["id"] == id), None)


def now(seconds: float = 0) -> str:
    """An instant so many seconds from now."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def subscription(number: int, text: str, label: str, state: str = "active", **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"id": f"sub_{number:022d}", "label": label, "kind": "filter", "dialect": "tamis"}
    made |= {"filter": text, "canonical": text, "delivery": {"mode": "pull"}, "state": state}
    return made | {"created": now(-7200 * number), "expires": now(3600 * number), "expiring": False, **more}


def _subscriptions(count: int) -> list[dict[str, Any]]:
    made = []
    for number, text in zip(range(1, count + 1), interests(5), strict=False):
        label = "" if number % 7 == 0 else f"Interest {number}"
        made.append(subscription(number, text, label, _STATES[number % len(_STATES)]))
    made[0] |= {"label": "Cheap oak", "filter": "price < 500", "state": "active"}
    made[1] |= {"delivery": {"mode": "webhook", "url": "https://hooks.example.org/antiques/a/long/path/of/an/endpoint"}}
    made[1]["health"] = {"cursor": "7", "failures": 7, "next_attempt": now(40), "disabled": False}
    made[1]["health"]["last_error"] = "the connection was refused"
    made[2] |= {"kind": "join", "label": "A join", "filter": "SELECT * FROM antiques JOIN furniture USING (price)"}
    return made


def _letters() -> list[dict[str, Any]]:
    event = {"id": 1, "kind": "event", "subject": "evt_5f0c", "owner": "", "time": now(-600)}
    event |= {"reason": "attribute 'price': 'dear' is not a number", "body": '{"price": "dear"}', "detail": {}}
    sent = {"id": 2, "kind": "delivery", "subject": "sub_0000000000000000000002", "owner": "", "time": now(-60)}
    sent |= {"reason": "answered 500 eight times", "body": '{"id": "ntf_1", "event": {"price": 3}}', "detail": {}}
    return [event, sent]


def _network() -> dict[str, Any]:
    """A broker with a link that works, one that is away with a full queue, and one in reserve."""
    quiet = dict.fromkeys(("unwanted", "unsettled", "resets", "advertisements_in", "advertisements_out"), 0)
    link = {**quiet, "sessions": 1, "address": None, "in_use": True, "queue_full": False}
    numbers = {"subscriptions_in": 120, "subscriptions_out": 45, "events_in": 1800, "events_out": 950}
    numbers |= {"bytes_in": 3_200_000, "bytes_out": 180_000, "queue_events": 0, "queue_bytes": 0}
    away = {"address": "10.0.0.9:7070", "state": "down", "queue_full": True, "queue_events": 20_000}
    links = [
        {**link, **numbers, "name": "north", "state": "open"},
        {**link, **numbers, "name": "south", **away},
        {**link, **numbers, "name": "west", "state": "open", "in_use": False},
    ]
    return {"linked": True, "name": "here", "policy": "covering", "brokers": 4, "links": links, "dead_letters": 0} | {
        "error": None
    }


def _operators() -> list[dict[str, Any]]:
    place = {"name": "place", "kind": "string", "variable": False, "optional": False, "repeated": False}
    people = {"name": "people", "kind": "integer", "variable": True, "optional": False, "repeated": False}
    counts = {"held": 0, "unknown": 0, "failures": 0, "timeouts": 0, "skipped": 0, "absent": 0, "seconds": 0.0}
    usual = {"version": "1", "batch": False, "time_limit": 30.0, "cost_learned": False, "selectivity": None} | counts
    usual |= {
        "selectivity_learned": True,
        "predicates": 0,
        "suspended": False,
        "calls": 0,
        "evaluations": 0,
        "last_failure": None,
    }
    return [
        usual
        | {"name": "loc_in", "signature": "loc_in(place: string)", "reads": ["lat", "lon"], "cost": 1.0}
        | {"parameters": [place | {"choices": ["Bronx", "Queens", "Jackson's Mill"]}]}
        | {"about": "Whether the camera is over a place. Places have outlines, right to a few hundred metres."}
        | {"calls": 310_000, "evaluations": 12_345_678, "held": 1_851_851, "selectivity": 0.15, "predicates": 41}
        | {"batch": True, "seconds": 512.0},
        usual
        | {"name": "mob_pattern", "signature": "mob_pattern(?people: integer)", "reads": ["image"], "cost": 38.4}
        | {"parameters": [people | {"choices": []}], "about": "How many people there are in the picture."}
        | {"calls": 9_120, "evaluations": 9_120, "held": 8_004, "selectivity": 0.034, "predicates": 3, "unknown": 19}
        | {"failures": 12, "timeouts": 7, "suspended": True, "cost_learned": True, "seconds": 350.2}
        | {"last_failure": "mob_pattern(?x1): ValueError: this is no picture that OpenCV can read"},
        usual
        | {"name": "mentions", "signature": "mentions(word: string, ...)", "reads": ["*"], "cost": None}
        | {
            "parameters": [place | {"name": "word", "repeated": True, "choices": []}],
            "cost_learned": True,
            "about": "",
        },
    ]


def _keys() -> list[dict[str, Any]]:
    return [
        {
            "id": "admin",
            "name": "First administrator",
            "roles": ["administer"],
            "created": now(-86400),
            "revoked": None,
        },
        {
            "id": "reader",
            "name": "Dashboard",
            "roles": ["publish", "subscribe"],
            "created": now(-3600),
            "revoked": None,
        },
    ]
