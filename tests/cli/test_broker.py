"""`tamis broker`: what it says when it cannot start, and what its commands do against a broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="the broker extra is not installed")

from typer.testing import CliRunner

from tamis.broker.broker import Broker
from tamis.broker.client import BrokerClient, BrokerThread
from tamis.broker.store import BrokerStore
from tamis.cli.broker import clients as reaching
from tamis.cli.commands import app
from tamis.schema import Schema

SCHEMA = """
attributes: {title: string, price: float}
event_types: {lot: {title: mandatory, price: mandatory}}
"""


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    file = tmp_path / "lots.yaml"
    file.write_text(SCHEMA)
    return file


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    with BrokerThread(Broker(Schema.from_yaml(SCHEMA), BrokerStore.open(None, "one"))) as running:
        yield running


def test_what_keeps_a_broker_from_starting_is_said(schema: Path, tmp_path: Path) -> None:
    data = ["--data", str(tmp_path / "state")]
    for options, said in (
        ([], "needs a schema"),
        (["--schema", str(schema), "--listen", "0.0.0.0:0"], "--token-file"),
        (["--schema", str(schema), "--listen", "here"], "HOST:PORT"),
        (["--schema", str(schema), "--name", "a b"], "is no name"),
        (["--schema", str(schema), "--tls-cert", str(schema)], "go together"),
    ):
        done = CliRunner().invoke(app, ["broker", *options, *data])
        assert done.exit_code == 2, done.output
        assert said in done.output.replace("\n", " ")


def test_events_are_published_and_come_to_a_subscriber(schema: Path, tmp_path: Path, broker: BrokerThread) -> None:
    with BrokerClient(broker.address, "ann") as ann:
        ann.subscribe({"1": "price < 100"})
    events = tmp_path / "lots.jsonl"
    events.write_text('{"title": "a clock", "price": 80}\n{"title": "a desk", "price": 300}\n{"title": "broken"}\n')
    at = ["--at", broker.address]
    done = CliRunner().invoke(app, ["broker", "publish", str(events), "--name", "shop", "-s", str(schema), *at])
    assert done.exit_code == 1, done.output
    assert "2 events published, 1 refused" in done.output
    told = CliRunner().invoke(app, ["broker", "status", "--json", *at])
    clients = {client["name"]: client for client in json.loads(told.output)["clients"]}
    assert clients["ann"]["queue_events"] == 1
    assert clients["shop"]["events_in"] == 2
    assert "ann" in CliRunner().invoke(app, ["broker", "status", *at]).output
    got = CliRunner().invoke(app, ["broker", "subscribe", "price < 100", "--name", "ann", "--count", "1", *at])
    assert got.exit_code == 0, got.output
    line = next(line for line in got.output.splitlines() if line.startswith("{"))
    assert json.loads(line) == {"event": {"title": "a clock", "price": 80.0}, "filters": [1]}
    assert [client["name"] for client in broker.status()["clients"]] == ["shop"], "ann has left"


def test_a_broker_that_is_not_there_is_said_so() -> None:
    done = CliRunner().invoke(app, ["broker", "status", "--at", "127.0.0.1:1"])
    assert done.exit_code == 2
    assert "does not answer" in done.output


@pytest.mark.parametrize("command", ["publish no-matter.jsonl --schema lots.yaml", "subscribe TRUE"])
def test_who_waits_for_a_broker_that_is_not_there_says_so_and_in_the_end_why(
    command: str, schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(schema.parent)
    monkeypatch.setattr(reaching, "_SILENCE", 0.0)
    monkeypatch.setattr(reaching, "_PATIENCE", 2.0)
    done = CliRunner().invoke(app, ["broker", *command.split(), "--name", "shop", "--at", "127.0.0.1:1"])
    assert done.exit_code == 2
    said, ended = done.output.splitlines()
    assert said == "waiting up to 2 s for the broker at 127.0.0.1:1 ... (Ctrl-C gives up)"
    assert "did not answer in 2 seconds; is it running?" in ended
    assert "Failed to connect" in ended
