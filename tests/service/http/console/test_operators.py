"""Operators in the console: their page, suggestions, the course an event took, and what variables are bound to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tamis.operators.health import Tally
from tamis.service.app import create_app
from tamis.service.base.configuration import Settings
from tamis.service.worker import Fared
from tests.service.city import CITY, OPERATORS, shot
from tests.service.http.console.conftest import Complaints, Opening, Running, opened_page, served
from tests.service.http.console.suggesting import editor_that_knows
from tests.service.http.server import PlayedPipeline, make_service

CROWD = "loc_in('Bronx') AND mob_pattern(?people) AND ?people > 3"


def test_operators_are_listed_with_cost_calls_failures_and_selectivity(open_console: Opening) -> None:
    page = open_console("#/operators")
    rows = page.get_by_role("table", name="Operators").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("loc_in(place: string)")
    expect(rows.nth(0)).to_contain_text("15 %")
    expect(rows.nth(1)).to_contain_text("38 ms, learned")
    expect(rows.nth(1)).to_contain_text("3.4 %")
    expect(rows.nth(1).locator(".badge")).to_have_text(["19", "suspended"])
    expect(rows.nth(2)).to_contain_text("not known yet")
    page.locator("details", has_text="mob_pattern").locator("summary").click()
    expect(page.get_by_label("Last failure of mob_pattern")).to_contain_text("no picture")


def test_the_page_follows_what_is_counted_and_leaves_open_what_is_open(open_console: Opening, service: Running) -> None:
    page = open_console("#/operators")
    page.locator("details", has_text="mentions").locator("summary").click()
    service.state.operators[2]["evaluations"] = 77
    expect(page.get_by_role("table", name="Operators").locator("tbody tr").nth(2)).to_contain_text("77", timeout=15_000)
    expect(page.locator("details", has_text="mentions")).to_have_attribute("open", "")


def test_a_service_without_operators_says_how_to_have_some(open_console: Opening, service: Running) -> None:
    service.state.operators = []
    page = open_console("#/operators")
    expect(page.locator(".empty")).to_contain_text("tamis serve --operators")


def test_operators_their_arguments_and_their_variables_are_suggested(
    open_console: Opening, complaints: Complaints
) -> None:
    _, field, options = editor_that_knows("operators", open_console, complaints)
    field.press_sequentially("loc")
    expect(options).to_have_text(["loc_in(place"])
    field.press("Enter")
    expect(options).to_have_text(["Bronxplace", "Queensplace", "Jackson's Millplace"])
    field.press("ArrowUp")
    field.press("Enter")
    expect(field).to_have_value("loc_in('Jackson''s Mill'")
    field.press_sequentially(") AND mob_pattern(")
    expect(options.first).to_have_text("?peoplebinds integer")
    field.press("Enter")
    field.press_sequentially(") AND ?p")
    expect(options.first).to_have_text("?peoplevariable")
    field.press("Enter")
    expect(field).to_have_value("loc_in('Jackson''s Mill') AND mob_pattern(?people) AND ?people ")
    field.press("Control+Space")
    expect(options.first).to_have_text("=")


def test_matches_show_what_variables_are_bound_to(open_console: Opening) -> None:
    page = open_console("#/")
    expect(page.locator(".match .bindings").first).to_contain_text("?people = ")


@pytest.fixture
def city(browser: Browser, complaints: Complaints, tmp_path: Path) -> Iterator[Page]:
    """The console of the service's own application, with cameras over a city; only Spark is played."""
    pipeline = PlayedPipeline()
    pipeline.become(operators={"loc_in": Fared(Tally(calls=7, evaluations=70, held=9), 1.0, 0.128, 2)})
    service = make_service(tmp_path / "state", pipeline, Settings(operators=OPERATORS), CITY)
    _, key = service.store.keys.create("boss", ["administer"])
    with (
        served(create_app(service), lifespan="on") as address,
        httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}) as http,
    ):
        events = [shot(people, place, price=1.0) for people in (2, 57) for place in ("Bronx", "Queens")]
        http.post("/v1/events", json=events).raise_for_status()
        # Where there is no cache of them yet, kernels are compiled now, and no page has to wait for that.
        http.post("/v1/filters/explain", json={"filter": CROWD, "event": shot(5)}, timeout=300).raise_for_status()
        page = opened_page(browser, complaints, address, key)
        yield page
        page.context.close()
    assert complaints.unexpected == []


def test_a_filter_that_calls_operators_is_tried_when_asked_explained_and_switched_on(city: Page) -> None:
    city.evaluate("location.hash = '#/editor'")
    field = city.get_by_label("Filter", exact=True)
    field.fill(CROWD)
    trial = city.get_by_role("region", name="Recent events")
    expect(trial).to_contain_text("press the button to try it")
    trial.get_by_role("button", name="Try now").click()
    expect(trial.locator(".lead")).to_have_text("1 of 4 recent events match.", timeout=120_000)
    matching, rest = trial.locator(".trial-lists > section").all()
    expect(matching.locator(".bindings")).to_have_text("?people = 57")
    few = rest.locator("li > details").nth(2)
    few.locator("summary").first.click()
    expect(few.locator(".step code")).to_have_text(["loc_in('Bronx')", "mob_pattern(?x1)"])
    expect(few.locator(".step").nth(1)).to_contain_text("?x1 = 2")
    expect(few.locator(".step").nth(1)).to_contain_text("rules the filter out")
    expect(few.locator(".course")).to_contain_text("First to fail: ?people > 3")
    elsewhere = rest.locator("li > details").first
    elsewhere.locator("summary").first.click()
    expect(elsewhere.locator(".verdict.not-asked")).to_have_count(2)
    city.get_by_role("button", name="Create").click()
    expect(city.get_by_label("Ticket")).to_contain_text("tkt_")
    city.get_by_role("link", name="Open subscription").click()
    city.get_by_role("textbox", name="Event as JSON").fill('{"lat": 40.79, "lon": -73.93, "image": "cHBwcA=="}')
    city.get_by_role("button", name="Test", exact=True).click()
    expect(city.locator(".course .bindings")).to_have_text("?people = 4")


def test_the_operators_page_shows_what_the_service_says(city: Page) -> None:
    city.evaluate("location.hash = '#/operators'")
    rows = city.get_by_role("table", name="Operators").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("13 %")
    expect(rows.nth(2)).to_contain_text("mob_pattern(?people: integer)")
