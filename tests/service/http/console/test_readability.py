"""For every pair of eyes and hands: phone widths, dark and light, contrast, labels, landmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.service.http.console.conftest import Complaints, Opening, Running

PLACES = [
    "#/",
    "#/subscriptions",
    "#/subscriptions/sub_0000000000000000000001",
    "#/editor",
    "#/operators",
    "#/schema",
    "#/network",
    "#/health",
]
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SCRIPT = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")


def settle(page: Page, place: str) -> None:
    """Waits for the page's content; the editor gets a filter with a mistake and then one that works."""
    if place == "#/editor":
        page.get_by_label("Filter", exact=True).fill("price < 400 AND period = 'XIX' OR titel = 'oak'")
        page.locator(".fault").wait_for()
        page.get_by_label("Filter", exact=True).fill("price < 400 AND (period = 'XIX' OR tags CONTAINS 'estate')")
        page.locator(".trial-lists details").first.locator("summary").first.click()
        page.get_by_role("button", name="Backtest").click()
        page.locator("rect.bar").first.wait_for()
    elif place == "#/" or "sub_" in place:
        page.locator(".match").first.wait_for()
    elif place == "#/operators":
        page.locator("details.card").first.wait_for()
        for summary in page.locator("details.card > summary").all():
            summary.click()
        page.locator("details .facts").first.wait_for()
    else:
        page.locator("table").first.wait_for()


@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_wider_than_a_phone(open_console: Opening, complaints: Complaints, place: str) -> None:
    complaints.expected = {422}
    page = open_console(place, viewport={"width": 360, "height": 740})
    settle(page, place)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    beyond = page.evaluate("""() => [...document.querySelectorAll('main *')]
        .filter(e => !e.closest('.unseen') && e.getBoundingClientRect().right > 361 && e.getClientRects().length)
        .map(e => e.outerHTML.slice(0, 100))""")
    assert beyond == []


@pytest.mark.parametrize("place", PLACES)
def test_every_text_holds_wcag_aa_contrast_and_every_control_has_a_name(
    open_console: Opening, complaints: Complaints, place: str
) -> None:
    complaints.expected = {422}
    page = open_console(place, color_scheme="light")
    settle(page, place)
    has_names_and_landmarks(page)
    grounds = set()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate(SCRIPT)
        assert found["texts"] > 20
        assert found["faint"] == []
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == len(SCHEMES)


def has_names_and_landmarks(page: Page) -> None:
    assert page.get_by_role("main").count() == page.get_by_role("banner").count() == 1
    assert page.locator("h1").count() == 1
    nameless = page.evaluate("""() => [...document.querySelectorAll('input, select, textarea, button, a')]
        .filter(e => e.getClientRects().length)
        .filter(e => !(e.labels?.length || e.textContent.trim() || e.getAttribute('aria-label')))
        .map(e => e.outerHTML)""")
    assert nameless == []
    twice = page.evaluate("""() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
        return ids.filter((id, at) => ids.indexOf(id) !== at) }""")
    assert twice == []


def test_the_switch_changes_the_colours_and_remembers(open_console: Opening) -> None:
    page = open_console(color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    switch = page.get_by_role("button", name="Colours")
    switch.click()
    switch.click()
    expect(switch).to_have_text("Dark")
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    assert page.evaluate(ground) == dark
    switch.click()
    assert page.evaluate(ground) == light


def test_the_skip_link_leads_into_the_page(open_console: Opening) -> None:
    page = open_console("#/schema")
    page.get_by_role("region", name="antiques").wait_for()
    page.evaluate("document.activeElement.blur()")
    page.get_by_role("link", name="Skip to the content").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.url.endswith("#/schema")


def test_a_page_that_cannot_be_had_says_why(open_console: Opening, service: Running, complaints: Complaints) -> None:
    complaints.expected = {503}
    service.state.broken.add("schema")
    page = open_console("#/schema")
    expect(page.get_by_role("alert")).to_contain_text("the store does not answer")
    service.state.broken.clear()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("region", name="antiques")).to_be_visible()
