"""The console over the service's own application: what one shows is what the other says. Only Spark is played."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tamis.service.app import create_app
from tamis.service.base.configuration import DeliverySettings, Settings
from tamis.service.http.service import Service
from tamis.service.worker import Batch
from tests.service.delivery.made import record
from tests.service.http.console.conftest import Complaints, opened_page, served
from tests.service.http.server import CHEAP, PlayedPipeline, make_service


class PipelineOfAnotherThread(PlayedPipeline):
    """A played pipeline whose batches are heard in the server's own loop."""

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await super().start()

    def tell(self, batch: Batch) -> None:
        self._loop.call_soon_threadsafe(super().tell, batch)


@dataclass
class Site:
    """A service that is being served, an administrator's way in, and the console of it."""

    service: Service
    pipeline: PlayedPipeline
    http: httpx.Client
    page: Page
    batch: int = 0

    def go(self, place: str) -> None:
        self.page.evaluate("place => { location.hash = place; }", place)

    def match(self, subscription: str, *prices: float) -> None:
        """Publishes events, and has them match."""
        events = [{**CHEAP, "price": price, "title": f"desk for {price}"} for price in prices]
        self.http.post("/v1/events", json=events).raise_for_status()
        found = self.service.store.subscriptions.get(subscription)
        assert found is not None
        self.batch += 1
        record(self.service.store, self.batch, [(event, [found.number]) for event in events])
        head, count = self.service.store.notifications.head(), len(events)
        self.pipeline.tell(Batch(self.batch, head, events=count, matches=count, ms=120.0, processed=0, lag_events=0))


@pytest.fixture
def site(browser: Browser, complaints: Complaints, tmp_path: Path) -> Iterator[Site]:
    pipeline = PipelineOfAnotherThread()
    service = make_service(tmp_path / "state", pipeline, Settings(delivery=DeliverySettings(allow_private=True)))
    _, key = service.store.keys.create("boss", ["administer"])
    with (
        served(create_app(service), lifespan="on") as address,
        httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}) as http,
    ):
        page = opened_page(browser, complaints, address, key)
        yield Site(service, pipeline, http, page)
        page.context.close()
    assert complaints.unexpected == []


def test_every_page_shows_what_the_service_says(site: Site, complaints: Complaints) -> None:
    complaints.expected = {422}
    made = site.http.post("/v1/subscriptions", json={"filter": "price < 10", "label": "Cheap"}).json()
    overview(site, made["id"])
    subscription(site, made["id"])
    editor(site)
    schema(site)
    health(site)
    shown = site.http.get("/v1/status").json()
    assert (shown["delivery"]["handed_out"], shown["totals"]["delivered"]) == (0, 0), "the console only looks on"


def overview(site: Site, subscription: str) -> None:
    page = site.page
    expect(page.locator(".live .badge")).to_have_text("live")
    site.match(subscription, 5.0, 6.0)
    match = page.locator(".match", has_text="desk for 6")
    expect(match).to_contain_text("price < 10")
    expect(match.get_by_role("link", name="Cheap")).to_be_visible()
    for name in ["Events in", "Matches", "Delivered", "Latency", "Lag"]:
        expect(page.locator(".tile", has_text=name).locator(".number")).not_to_have_text("–")
    expect(page.get_by_role("region", name="Health")).to_contain_text("1 active")
    expect(page.get_by_role("region", name="Health")).to_contain_text("all healthy")


def subscription(site: Site, id: str) -> None:
    page = site.page
    site.go("#/subscriptions")
    page.locator("tbody").get_by_role("link", name="Cheap").click()
    expect(page.get_by_role("img", name="Matches over time")).to_have_count(0)  # what was recorded is of another year
    expect(page.locator(".live .badge")).to_have_text("live")
    site.match(id, 7.0)
    expect(page.locator(".live .match").first).to_contain_text("desk for 7")
    page.get_by_text("Stored notifications, newest first").click()
    expect(page.locator(".past .match-event strong")).to_have_text(["desk for 7.0", "desk for 6.0", "desk for 5.0"])
    page.get_by_role("textbox", name="Event as JSON").fill('{"event_type": "antiques", "price": 70}')
    page.get_by_role("button", name="Test").click()
    expect(page.locator(".verdict.failed")).to_contain_text("price is 70")
    for button, state in [("Pause", "paused"), ("Resume", "active")]:
        page.get_by_role("button", name=button, exact=True).click()
        page.get_by_role("dialog").get_by_role("button", name=button).click()
        expect(page.locator(".page-head .badge")).to_have_text(state)


def editor(site: Site) -> None:
    page = site.page
    site.http.post("/v1/events", json=[{**CHEAP, "price": 900.0, "title": "dear"}]).raise_for_status()
    site.go("#/editor")
    field = page.get_by_label("Filter", exact=True)
    field.fill("price <")
    expect(page.locator(".fault-line")).to_contain_text("Character 8")
    field.fill("price < 6.5 AND title LIKE 'desk%'")
    trial = page.get_by_role("region", name="Recent events")
    expect(trial).to_contain_text("2 of 4 recent events match.")
    expect(trial.get_by_text("no match", exact=True)).to_have_count(2)
    trial.locator("details", has_text="dear").locator("summary").first.click()
    expect(trial.locator(".verdict.failed").first).to_contain_text("price is 900")
    page.get_by_role("button", name="Backtest").click()
    expect(page.get_by_text("Queued")).to_be_visible()
    finish_backtest(site.service)
    expect(page.locator(".lead", has_text="2 of 4 stored events would have matched.")).to_be_visible()
    page.get_by_label("Name").fill("Desks")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_label("Ticket")).to_contain_text("tkt_")


def finish_backtest(service: Service) -> None:
    job = service.store.backtests.claim()
    assert job is not None
    counts = [["2026-01-01T10:00:00+00:00", 2]]
    result = {"events": 4, "illegible": 0, "window_seconds": 60.0, "volume": counts, "counts": counts}
    service.store.backtests.finish(job.id, {**result, "total": 2, "samples": [CHEAP], "errors": []})


def schema(site: Site) -> None:
    page = site.page
    site.go("#/schema")
    expect(page.get_by_role("heading", name="antiques")).to_be_visible()
    page.get_by_label("Name").fill("material")
    page.get_by_role("button", name="Extend the schema").click()
    expect(page.get_by_text("version 2")).to_be_visible()
    expect(page.get_by_role("table", name="Attributes of antiques")).to_contain_text("material")


def health(site: Site) -> None:
    page, store = site.page, site.service.store
    for reason in ("the first", "the second"):
        store.dead_letters.add("event", "", "", reason, "{}")
    site.go("#/health")
    expect(page.get_by_role("region", name="Pipeline")).to_contain_text("running")
    expect(page.get_by_role("region", name="Delivery", exact=True)).to_contain_text("Read by subscribers")
    letters = page.get_by_role("region", name="Dead letters").locator("tbody tr")
    expect(letters.first).to_contain_text("the second")
    letters.first.get_by_role("button", name="Remove").click()
    expect(letters).to_have_count(1)
    keys = page.get_by_role("region", name="Keys")
    keys.get_by_label("Name").fill("Gallery")
    keys.get_by_role("button", name="Create key").click()
    expect(keys.get_by_label("Key", exact=True)).to_contain_text("tk_")
    expect(keys.locator("tbody tr")).to_have_count(2)
    assert "–" not in page.get_by_role("region", name="Delivery", exact=True).inner_text()
