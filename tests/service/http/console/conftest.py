"""A fake service on a free port, and pages of a real Chromium that fail the test for what they complain about."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.service.http.console.fake_api import create_fake
from tests.service.http.console.fake_state import ADMINISTRATOR, State

_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_PATIENCE = 15_000  # milliseconds that a page may take for what a test waits for
expect.set_options(timeout=_PATIENCE)


@dataclass
class Running:
    """A fake service that is being served."""

    state: State
    address: str


class Announcing(uvicorn.Server):
    """A server that says when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


@contextmanager
def served(app: FastAPI, lifespan: Literal["on", "off"] = "off") -> Iterator[str]:
    """The address of an application that is being served by a thread."""
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="warning", lifespan=lifespan, timeout_graceful_shutdown=5)
        server = Announcing(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        assert server.up.wait(30)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        # Streams of matches never end by themselves.
        server.force_exit = lifespan == "off"
        thread.join(30)


@pytest.fixture
def service() -> Iterator[Running]:
    state = State()
    with served(create_fake(state)) as address:
        yield Running(state, address)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a file. While it is there, Playwright's loop runs in this thread, and no other can:
    tests of other rooms that have a loop of their own must not meet it.
    """
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("the console's tests need Chromium: sh scripts/ensure_chromium.sh")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=_OPTIONS)
        yield launched
        launched.close()


@dataclass
class Complaints:
    """What a page complained about; `expected` are answers that a test asks for, such as 422 for a wrong filter."""

    found: list[str] = field(default_factory=list)
    expected: set[int] = field(default_factory=set)

    def heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.found.append(message.text)

    @property
    def unexpected(self) -> list[str]:
        answers = [f"status of {status} " for status in self.expected]
        return [text for text in self.found if not any(answer in text for answer in answers)]


Opening = Callable[..., Page]


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


def opened_page(
    browser: Browser, complaints: Complaints, address: str, key: str | None, place: str = "#/", **options: Any
) -> Page:
    """The console of a service at a place, signed in if there is a key, in a context of its own."""
    context = browser.new_context(**({"viewport": {"width": 1200, "height": 900}} | options))
    page = context.new_page()
    page.set_default_timeout(_PATIENCE)
    page.on("console", complaints.heard)
    page.on("pageerror", lambda error: complaints.found.append(str(error)))
    # What the policy refuses is told to the page, before any script of the console runs.
    page.add_init_script(
        "addEventListener('securitypolicyviolation', e => console.error('policy: ' + e.violatedDirective))"
    )
    start = f"{address}/console/"
    page.goto(start if key is None else f"{start}#key={key}")
    if key is not None:
        page.get_by_role("link", name="Overview").wait_for()
    if place != "#/":
        page.evaluate("place => { location.hash = place; }", place)
    return page


@pytest.fixture
def open_console(browser: Browser, service: Running, complaints: Complaints) -> Iterator[Opening]:
    """Opens the console at a place, signed in unless `key` says otherwise. Complaints fail the test at its end."""
    contexts = []

    def opened(place: str = "#/", *, key: str | None = ADMINISTRATOR, **options: Any) -> Page:
        page = opened_page(browser, complaints, service.address, key, place, **options)
        contexts.append(page.context)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints.unexpected == []
