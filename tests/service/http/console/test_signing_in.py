"""The key: from the address or the box, kept in the tab, never left in sight."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.service.http.console.conftest import Complaints, Opening, Running
from tests.service.http.console.fake_state import ADMINISTRATOR


def test_a_key_in_the_address_is_taken_out_of_it(open_console: Opening) -> None:
    page = open_console()
    assert "key" not in page.url
    assert page.evaluate("sessionStorage.getItem('tamis-key')") == ADMINISTRATOR
    assert page.evaluate("localStorage.length") == 0
    page.reload()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_without_a_key_the_box_asks_for_one_and_says_when_it_is_wrong(
    open_console: Opening, complaints: Complaints
) -> None:
    complaints.expected = {401}
    page = open_console(key=None)
    field = page.get_by_label("API key")
    expect(field).to_be_focused()
    expect(page.locator("#pulse")).to_have_text("signed out")
    expect(page.get_by_role("navigation", name="Pages")).to_be_hidden()
    field.fill("tk_wrong")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("unknown or revoked")
    page.get_by_label("API key").fill(ADMINISTRATOR)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.evaluate("sessionStorage.setItem('tamis-key', 'tk_revoked_meanwhile')")
    expect(page.get_by_role("alert")).to_contain_text("unknown or revoked")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()


def test_a_service_that_anyone_may_use_asks_for_no_key(open_console: Opening, service: Running) -> None:
    service.state.needs_key = False
    page = open_console(key=None)
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("API key").fill(ADMINISTRATOR)
    page.get_by_label("API key").press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
