"""Joins in the console, over the service's own application: the content as a table that changes, and how it came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tamis.service.app import create_app
from tamis.service.base.configuration import Settings
from tests.service.http.console.conftest import Complaints, opened_page, served
from tests.service.http.server import PlayedPipeline, make_service
from tests.service.worker.exchange import FORM, PRAISED, review, stock
from tests.service.worker.test_joining import Exchange


@dataclass
class Site:
    """A service whose pipeline is played, and the console of it."""

    exchange: Exchange
    http: httpx.Client
    page: Page

    def go(self, place: str) -> None:
        self.page.evaluate("place => { location.hash = place; }", place)


@pytest.fixture
def site(browser: Browser, complaints: Complaints, tmp_path: Path) -> Iterator[Site]:
    service = make_service(tmp_path / "state", PlayedPipeline(), Settings(), FORM)
    _, key = service.store.keys.create("boss", ["administer"])
    exchange = Exchange(service.store)
    with (
        served(create_app(service), lifespan="on") as address,
        httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}) as http,
    ):
        page = opened_page(browser, complaints, address, key)
        yield Site(exchange, http, page)
        page.context.close()
    assert complaints.unexpected == []


def test_the_content_is_a_table_that_changes(site: Site) -> None:
    made = site.http.post("/v1/subscriptions", json={"filter": PRAISED, "label": "Praised"}).json()
    analysts = ("Ann", "Bob")
    site.exchange.take(stock("GOOG", 51.5), stock("YHOO", 34.0), *(review("GOOG", name, 7.5) for name in analysts))
    site.go(f"#/subscriptions/{made['id']}")
    page, rows = site.page, site.page.locator(".results tbody tr")
    expect(rows).to_have_count(2)
    expect(page.get_by_role("columnheader", name="Analyst")).to_be_visible()
    expect(page.get_by_text("Stocks and Reviews agree on")).to_be_visible()
    expect(page.get_by_text("live").first).to_be_visible()
    site.exchange.take(review("YHOO", "Cyd", 9.0))
    expect(rows).to_have_count(3)
    expect(page.locator(".matches .added").first).to_contain_text("YHOO")
    site.exchange.take(stock("GOOG", 60.0))
    expect(page.locator(".results")).to_contain_text("60")
    expect(rows).to_have_count(3)
    site.exchange.take(stock("YHOO", 0.0, operation="delete"))
    expect(rows).to_have_count(2)
    page.get_by_role("textbox", name="Event as JSON").fill(
        '{"event_type": "Reviews", "Symbol": "GOOG", "Analyst": "Dan", "Rating": 9}'
    )
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_text("Changes that it would make, as a row of Reviews")).to_be_visible()
    expect(page.locator(".course .added")).to_contain_text("Dan")


def test_a_join_is_checked_and_tried_in_the_editor_and_tables_are_in_the_schema(
    site: Site, complaints: Complaints
) -> None:
    complaints.expected = {422}  # a slow machine checks what has been typed so far
    site.exchange.take(stock("GOOG", 51.5), review("GOOG", "Ann", 7.5))
    site.go("#/editor")
    field = site.page.get_by_label("Filter", exact=True)
    field.press_sequentially("SELECT * FROM Stocks JOIN ")
    expect(site.page.get_by_role("option", name="Reviews")).to_be_visible()
    field.fill(PRAISED)
    expect(site.page.get_by_text("joins tables")).to_be_visible()
    expect(site.page.locator(".lead", has_text="1 row now")).to_be_visible()
    expect(site.page.locator(".results tbody tr")).to_have_count(1)
    site.go("#/schema")
    expect(site.page.get_by_text("the latest 5 rows")).to_be_visible()
