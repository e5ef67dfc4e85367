"""`tamis serve` as a user runs it: with Spark, over a folder, stopped by a signal."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tamis.client import Client
from tamis.errors import PipelineError
from tamis.pipeline.session import require_spark
from tamis.schema import Schema
from tests.service.http.server import AUCTIONS, CHEAP

pytestmark = [pytest.mark.slow, pytest.mark.spark]


@pytest.fixture
def schema_file(tmp_path: Path) -> Path:
    try:
        require_spark()
    except PipelineError as error:
        pytest.skip(str(error))
    path = tmp_path / "schema.yaml"
    path.write_text(Schema.from_dict(AUCTIONS).to_yaml(), encoding="utf-8")
    return path


def started(state: Path, schema_file: Path) -> tuple[subprocess.Popen[str], str]:
    """The process once Spark runs, and the address that it printed."""
    options = ["serve", "--state", str(state), "--schema", str(schema_file), "--port", "0", "--spark", "local[2]"]
    process = subprocess.Popen([sys.executable, "-m", "tamis.cli", *options], stderr=subprocess.PIPE, text=True)
    address = ""
    assert process.stderr is not None
    for line in process.stderr:
        if (found := re.search(r"(http://127\.0\.0\.1:\d+)/console/#key=tk_", line)) is not None:
            address = found[1]
        if "Spark is running" in line:
            return process, address
    raise AssertionError(f"it ended with {process.wait()}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_event_finds_its_subscriber_and_a_signal_ends_all(
    tmp_path: Path, schema_file: Path, number: signal.Signals
) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o755)
    process, address = started(state, schema_file)
    try:
        made = httpx.post(f"{address}/v1/subscriptions", json={"filter": "price < 10"}).json()
        with Client(address) as client:
            published = client.publish([CHEAP, {**CHEAP, "price": 50}, CHEAP])
        # As the SDK of CloudEvents sends one: JSON, and no word of it.
        context = {"ce-specversion": "1.0", "ce-id": "7", "ce-source": "/a", "ce-type": "antiques"}
        sold = httpx.post(f"{address}/v1/events", content=b'{"price": 5}', headers=context).json()
        path = f"{address}/v1/subscriptions/{made['id']}/notifications?wait=60"
        polled = httpx.get(path, headers={"Tamis-Ticket": made["ticket"]}, timeout=90).json()
        got = polled["notifications"]
        while len(got) < 3:
            more = httpx.get(f"{path}&cursor={got[-1]['cursor']}", headers={"Tamis-Ticket": made["ticket"]}, timeout=90)
            got += more.json()["notifications"]
        assert [each["event"] for each in got[:2]] == [CHEAP, CHEAP]
        assert [each["event_id"] for each in got] == [published.ids[0], published.ids[2], *sold["ids"]]
        assert httpx.get(f"{address}/ready").json()["ready"] is True
    finally:
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert not (state / "store.sqlite-wal").exists()
    made = {path: path.stat().st_mode & 0o077 for path in state.rglob("*")}
    assert {"spool", "checkpoint"} <= {path.name for path in made}
    assert not any(made.values()), made
