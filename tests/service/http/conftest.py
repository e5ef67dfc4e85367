"""Servers for the tests of the API."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tamis.service.app import create_app
from tamis.service.base.configuration import DeliverySettings, Settings
from tests.service.http.server import AUCTIONS, PlayedPipeline, Server, make_service


def _started(folder: Path, settings: Settings | None, schema: dict[str, Any] = AUCTIONS) -> Server:
    pipeline = PlayedPipeline()
    settings = settings or Settings(delivery=DeliverySettings(allow_private=True))
    service = make_service(folder, pipeline, settings, schema)
    # A fault must be an answer, as it is for everybody else.
    return Server(service, pipeline, TestClient(create_app(service), raise_server_exceptions=False))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers, each over a folder of its own; they end with the test."""
    with ExitStack() as running:

        def starting(settings: Settings | None = None, schema: dict[str, Any] = AUCTIONS) -> Server:
            server = _started(tmp_path / secrets.token_hex(4), settings, schema)
            running.enter_context(server.client)
            return server

        yield starting


@pytest.fixture
def server(start: Callable[..., Server]) -> Server:
    """A server with the usual settings."""
    return start()


@pytest.fixture(scope="module")
def server_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests of a file that leave it as it was."""
    server = _started(tmp_path_factory.mktemp("server") / "state", None)
    with server.client:
        yield server
