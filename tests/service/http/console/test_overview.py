"""The first page: live numbers, live matches, and what it shows when the service is silent."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.service.http.console.conftest import Complaints, Opening, Running


def test_rates_and_latency_are_shown_and_go_on(open_console: Opening) -> None:
    page = open_console()
    for name in ["Events in", "Matches", "Delivered", "Latency", "Lag"]:
        tile = page.locator(".tile", has_text=name)
        expect(tile.locator(".number")).not_to_have_text("–")
    chart = page.get_by_role("img", name="Throughput, per second")
    expect(chart.locator("path.line")).to_have_count(3)
    before = chart.locator("path.accent").get_attribute("d")
    page.wait_for_function(
        "before => document.querySelector('.lines path.accent').getAttribute('d') !== before", arg=before
    )


def test_matches_come_in_live_with_their_reasons_and_the_subscriptions_name(open_console: Opening) -> None:
    page = open_console()
    first = page.locator(".match").first
    expect(first).to_contain_text("price < 500")
    expect(first.get_by_role("link", name="Cheap oak")).to_be_visible()
    count = page.locator(".match").count()
    page.wait_for_function("count => document.querySelectorAll('.match').length > count", arg=count)


def test_the_stream_can_be_held_still(open_console: Opening) -> None:
    page = open_console()
    page.locator(".match").first.wait_for()
    hold = page.get_by_role("button", name="Pause")
    hold.click()
    held = page.locator(".match").count()
    # Two more answers of the status are a while in which matches would have come.
    with page.expect_response("**/v1/status"):
        pass
    with page.expect_response("**/v1/status"):
        pass
    assert page.locator(".match").count() == held
    page.get_by_role("button", name="Resume").click()
    page.wait_for_function("held => document.querySelectorAll('.match').length > held", arg=held)


def test_the_health_of_the_pipeline_is_shown_with_its_last_error(open_console: Opening, service: Running) -> None:
    service.state.pipeline = {"state": "restarting", "restarts": 3, "error": "Java heap space\n  at Somewhere"}
    page = open_console()
    health = page.get_by_role("region", name="Health")
    expect(health).to_contain_text("restarting")
    expect(health).to_contain_text("Java heap space")
    expect(page.locator("#pulse")).to_have_text("restarting")


def test_a_silent_service_is_named_and_the_last_numbers_stay(
    open_console: Opening, service: Running, complaints: Complaints
) -> None:
    complaints.expected = {503}
    page = open_console()
    expect(page.locator(".tile .number").first).not_to_have_text("–")
    service.state.broken.add("status")
    expect(page.get_by_text("The service does not answer")).to_be_visible()
    expect(page.locator("#pulse")).to_have_text("unreachable")
    expect(page.locator(".tile .number").first).not_to_have_text("–")
    service.state.broken.clear()
    expect(page.get_by_text("The service does not answer")).to_be_hidden()


def test_an_event_cannot_become_markup(open_console: Opening, service: Running) -> None:
    service.state.events = [{"title": "<img src=x onerror=alert(1)><b>bold</b>", "price": 1.0}]
    page = open_console()
    expect(page.locator(".match-event").first).to_contain_text("<b>bold</b>")
    assert page.locator(".match img, .match b").count() == 0
