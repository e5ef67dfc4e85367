"""A real service whose schema is extended while events that it has acknowledged wait to be matched."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from tamis.errors import PipelineError
from tamis.pipeline.session import require_spark
from tamis.schema import Schema

pytestmark = [pytest.mark.slow, pytest.mark.spark]

ROUNDS, EVENTS = 50, 400
ALARMS = {
    "attributes": {"device": "string", "value": "float", "n": "integer"},
    "event_types": {
        "reading": {"device": "mandatory", "value": "mandatory"},
        "alarm": {"device": "mandatory", "n": "mandatory"},
    },
}


def _started(folder: Path) -> tuple[subprocess.Popen[str], str, str]:
    """The process once Spark runs, its address, and the administrator's key."""
    (folder / "schema.yaml").write_text(Schema.from_dict(ALARMS).to_yaml(), encoding="utf-8")
    options = ["--state", str(folder / "state"), "--schema", str(folder / "schema.yaml"), "--port", "0"]
    options += ["--spark", "local[2]", "--unknown-attributes", "ignore"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tamis.cli", "serve", *options], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if (found := re.search(r"(http://127\.0\.0\.1:\d+)/console/#key=(tk_\S+)", line)) is not None:
            address, key = found.groups()
        if "Spark is running" in line:
            return process, address, key
    raise AssertionError(f"it ended with {process.wait()}")


def _notified(http: httpx.Client, made: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The events of a subscription's notifications, once there are as many, or none have come for long."""
    cursor, events = "0", list[dict[str, Any]]()
    while True:
        path = f"/v1/subscriptions/{made['id']}/notifications"
        asked: dict[str, str | int] = {"cursor": cursor, "limit": 1_000, "wait": 20 if len(events) < count else 0}
        page = http.get(path, params=asked, headers={"Tamis-Ticket": made["ticket"]}).json()
        events += [one["event"] for one in page["notifications"]]
        if not page["notifications"]:
            return events
        cursor = page["cursor"]


def test_an_extension_while_events_wait_loses_and_changes_none_of_them(tmp_path: Path) -> None:
    try:
        require_spark()
    except PipelineError as error:
        pytest.skip(str(error))
    process, address, key = _started(tmp_path)
    toll = Counter[str]()
    try:
        with httpx.Client(base_url=address, timeout=60) as http:
            boss = {"Authorization": f"Bearer {key}"}
            kinds = ("integer", "string", "boolean", "timestamp")
            for number in range(ROUNDS):
                device, colour = f"d{number}", f"colour{number}"
                made = http.post("/v1/subscriptions", json={"filter": f"device = '{device}' AND n >= 0"}).json()
                alarms = [
                    {"event_type": "alarm", "device": device, "n": n, colour: "red", "place": {"floor": n}}
                    for n in range(EVENTS)
                ]
                told = [
                    http.post("/v1/events", json=alarms[start : start + 100]).json() for start in range(0, EVENTS, 100)
                ]
                toll["accepted"] += sum(one["accepted"] for one in told)
                toll["told to be ignored"] += sum(one["ignored"][colour] for one in told)
                # For one of the other type, or for the alarms themselves: what is on the log had neither.
                kind = "reading" if number % 2 else "alarm"
                form = {
                    "attributes": {colour: kinds[number % 4]},
                    "optional": {kind: {colour: "optional"}},
                }
                assert http.post("/v1/schema/extensions", json=form, headers=boss).status_code == 201
                late = http.post("/v1/subscriptions", json={"filter": f"{colour} IS NOT NULL"}).json()
                events = _notified(http, made, EVENTS)
                numbers = Counter(event["n"] for event in events)
                toll["lost"] += EVENTS - len(numbers)
                toll["twice"] += len(events) - len(numbers)
                toll["changed"] += sum(event != alarms[event["n"]] for event in events)
                toll["changed"] += len(_notified_now(http, late))
            letters = http.get("/v1/dead-letters", headers=boss).json()["dead_letters"]
            toll["dead letters"] = len(letters)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        assert process.stderr is not None
        process.stderr.close()
    expected = {"accepted": ROUNDS * EVENTS, "told to be ignored": ROUNDS * EVENTS}
    assert +toll == expected, toll


def _notified_now(http: httpx.Client, made: dict[str, Any]) -> list[dict[str, Any]]:
    path = f"/v1/subscriptions/{made['id']}/notifications"
    page: list[dict[str, Any]] = http.get(path, headers={"Tamis-Ticket": made["ticket"]}).json()["notifications"]
    return page
