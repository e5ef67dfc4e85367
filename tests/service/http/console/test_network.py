"""The network in the console: the links, and what each carries."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.service.http.console.conftest import Opening, Running


def test_links_are_listed_with_what_they_carry_and_follow_it(open_console: Opening, service: Running) -> None:
    page = open_console("#/network")
    rows = page.get_by_role("table", name="Links").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0).locator(".badge")).to_have_text(["open"])
    expect(rows.nth(0)).to_contain_text("1,800")
    expect(rows.nth(0)).to_contain_text("3.2 MB")
    expect(rows.nth(1).locator(".badge")).to_have_text(["down", "20,000, full"])
    expect(rows.nth(2).locator(".badge")).to_have_text(["in reserve"])
    service.state.network["links"][0]["events_in"] = 4321
    expect(rows.nth(0)).to_contain_text("4,321", timeout=15_000)


def test_a_service_without_links_says_how_to_have_some(open_console: Opening, service: Running) -> None:
    service.state.network = {"linked": False, "links": [], "error": None}
    page = open_console("#/network")
    expect(page.locator(".empty")).to_contain_text("--broker-listen")
