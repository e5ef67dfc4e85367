"""Subscriptions: found, looked at, renewed, paused and cancelled."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.service.http.console.conftest import Complaints, Opening, Running


def test_subscriptions_are_listed_with_kind_and_state_a_page_at_a_time(open_console: Opening) -> None:
    page = open_console("#/subscriptions")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(25)
    expect(rows.nth(2)).to_contain_text("join")
    expect(rows.nth(2)).to_contain_text("paused")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Page 2 of 3")).to_be_visible()
    expect(rows.first).to_contain_text("Interest 26")
    page.get_by_role("button", name="Next").click()
    expect(rows).to_have_count(10)
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    page.get_by_role("button", name="Back").click()
    expect(rows.first).to_contain_text("Interest 26")


def test_search_and_state_narrow_the_list_and_are_in_the_address(open_console: Opening) -> None:
    page = open_console("#/subscriptions")
    page.get_by_label("Search").fill("cheap")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_label("State").select_option("Cancelled")
    expect(page.get_by_text("No subscription matches the search.")).to_be_visible()
    assert page.url.endswith("#/subscriptions?search=cheap&state=cancelled")
    page.reload()
    expect(page.get_by_label("Search")).to_have_value("cheap")
    expect(page.get_by_text("No subscription matches the search.")).to_be_visible()


def test_one_subscription_shows_its_matches_over_time_and_its_notifications_live(
    open_console: Opening, service: Running
) -> None:
    page = open_console(f"#/subscriptions/{service.state.subscriptions[0]['id']}")
    expect(page.get_by_role("heading", name="Cheap oak")).to_be_visible()
    bars = page.get_by_role("img", name="Matches over time")
    expect(bars).to_be_visible()
    page.get_by_label("Time span").select_option("Last hour")
    # One a minute or so: how many fit depends on where the minute stands.
    expect(page.get_by_role("img", name="Matches over time").locator("rect.bar").nth(40)).to_be_attached()
    assert ("GET", f"subscriptions/{service.state.subscriptions[0]['id']}/activity") in [
        asked[:2] for asked in service.state.asked
    ]
    expect(page.locator(".match").first).to_contain_text("price < 500")
    page.get_by_text("Stored notifications, newest first").click()
    expect(page.locator(".past .match")).to_have_count(20)
    page.locator(".past").get_by_role("button", name="Older").click()
    expect(page.locator(".past .match")).to_have_count(10)


def test_an_event_is_tested_and_explained(open_console: Opening, service: Running) -> None:
    page = open_console(f"#/subscriptions/{service.state.subscriptions[0]['id']}")
    page.get_by_role("textbox", name="Event as JSON").fill('{"price": 700}')
    page.get_by_role("button", name="Test").click()
    expect(page.locator(".verdict.failed")).to_contain_text("price is 700")
    page.get_by_role("textbox", name="Event as JSON").fill("{price")
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_text("Invalid JSON")).to_be_visible()


def test_one_that_expires_soon_is_marked_and_renewed_until_it_is_cancelled(
    open_console: Opening, service: Running
) -> None:
    chosen = service.state.subscriptions[0]
    chosen["expiring"] = True
    page = open_console("#/subscriptions")
    expect(page.locator("tbody tr").first).to_contain_text("expiring")
    page = open_console(f"#/subscriptions/{chosen['id']}")
    expect(page.locator(".page-head")).to_contain_text("expiring")
    page.get_by_role("button", name="Renew").click()
    page.get_by_label("Valid for").select_option("Until cancelled")
    page.get_by_role("dialog").get_by_role("button", name="Renew").click()
    expect(page.get_by_text("never", exact=True)).to_be_visible()
    assert chosen["validity"] == "forever"


def test_a_pause_needs_no_ticket(open_console: Opening, service: Running) -> None:
    page = open_console(f"#/subscriptions/{service.state.subscriptions[0]['id']}")
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.locator(".page-head .badge")).to_have_text("paused")
    page.get_by_role("button", name="Resume", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(page.locator(".page-head .badge")).to_have_text("active")


def test_what_is_pushed_is_sent_again_from_a_time(open_console: Opening, service: Running) -> None:
    pulled, pushed = service.state.subscriptions[:2]
    pulled["delivery"], pushed["delivery"] = {"mode": "pull"}, {"mode": "webhook", "url": "https://a.example.org/"}
    page = open_console(f"#/subscriptions/{pulled['id']}")
    expect(page.get_by_role("button", name="Renew")).to_be_visible()
    expect(page.get_by_role("button", name="Replay")).to_have_count(0)
    page = open_console(f"#/subscriptions/{pushed['id']}")
    page.get_by_role("button", name="Replay").click()
    page.get_by_label("Events received since").fill("2026-05-01T10:30")
    page.get_by_role("dialog").get_by_role("button", name="Replay").click()
    expect(page.get_by_text("It is sent again")).to_be_visible()
    assert pushed["replayed"].startswith("2026-05-01T")


def test_renewing_and_cancelling(open_console: Opening, service: Running) -> None:
    chosen = service.state.subscriptions[0]
    before = chosen["expires"]
    page = open_console(f"#/subscriptions/{chosen['id']}")
    page.get_by_role("button", name="Renew").click()
    page.get_by_label("Valid for").select_option("30 days")
    page.get_by_role("dialog").get_by_role("button", name="Renew").click()
    expect(page.get_by_text("(in 30 days)")).to_be_visible()
    assert chosen["expires"] > before
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel it").click()
    expect(page.locator(".page-head .badge")).to_have_text("cancelled")
    expect(page.get_by_text("no more notifications")).to_be_visible()
    expect(page.get_by_role("button", name="Renew")).to_have_count(0)


def test_a_dialog_keeps_the_focus_and_gives_it_back(open_console: Opening, service: Running) -> None:
    page = open_console(f"#/subscriptions/{service.state.subscriptions[0]['id']}")
    page.get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").locator(":focus")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()


def test_what_is_not_shown_to_the_key_can_be_opened_by_its_ticket(
    open_console: Opening, complaints: Complaints
) -> None:
    complaints.expected = {404}
    page = open_console("#/subscriptions/sub_unknown")
    page.get_by_label("Ticket").fill("tkt_wrong")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("alert")).to_contain_text("there is no such subscription")


def test_a_list_that_cannot_be_had_says_so_and_can_be_tried_again(
    open_console: Opening, service: Running, complaints: Complaints
) -> None:
    complaints.expected = {503}
    service.state.broken.add("subscriptions")
    page = open_console("#/subscriptions")
    expect(page.get_by_role("alert")).to_contain_text("the store does not answer")
    service.state.broken.clear()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("tbody tr")).to_have_count(25)


def test_a_service_without_subscriptions_leads_to_the_editor(open_console: Opening, service: Running) -> None:
    service.state.subscriptions[:] = []
    service.state.stream_length = 0
    page = open_console("#/subscriptions")
    page.get_by_role("link", name="Create the first").click()
    expect(page.get_by_role("heading", name="Filter editor")).to_be_visible()
