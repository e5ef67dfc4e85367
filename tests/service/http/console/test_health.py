"""Delivery and health: the pipeline, webhooks, dead letters, keys."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.service.http.console.conftest import Complaints, Opening, Running
from tests.service.http.console.fake_state import SUBSCRIBER


def test_the_pipelines_state_restarts_and_last_error_are_shown(open_console: Opening, service: Running) -> None:
    service.state.pipeline = {"state": "failed", "restarts": 4, "error": "Java heap space"}
    page = open_console("#/health")
    pipeline = page.get_by_role("region", name="Pipeline")
    expect(pipeline).to_contain_text("failed")
    expect(pipeline.get_by_label("Last error")).to_have_text("Java heap space")
    service.state.pipeline = {"state": "running", "restarts": 5, "error": None}
    expect(pipeline).to_contain_text("No error since")


def test_webhooks_are_shown_with_what_troubles_them_and_open_breakers(open_console: Opening) -> None:
    page = open_console("#/health")
    row = page.get_by_role("region", name="Webhooks and topics").locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("failing")
    expect(row).to_contain_text("the connection was refused")
    expect(page.locator(".facts > div", has_text="Open breakers")).to_contain_text("1")
    endpoint = page.get_by_role("table", name="Failing endpoints").locator("tbody tr")
    expect(endpoint).to_contain_text("https://hooks.example.org:443")
    expect(endpoint.locator(".badge")).to_have_text("open")


def test_a_dead_letter_is_replayed_or_removed(open_console: Opening, service: Running) -> None:
    page = open_console("#/health")
    letters = page.get_by_role("region", name="Dead letters")
    expect(letters.locator("tbody tr")).to_have_count(2)
    letters.get_by_label("Kind of dead letters").select_option("Deliveries")
    expect(letters.locator("tbody tr")).to_have_count(1)
    letters.get_by_role("button", name="Replay").click()
    expect(letters).to_contain_text("No dead letters.")
    assert [each["kind"] for each in service.state.letters] == ["event"]
    letters.get_by_label("Kind of dead letters").select_option("All")
    expect(letters.get_by_role("button", name="Replay")).to_have_count(0)
    letters.get_by_role("button", name="Remove").click()
    expect(letters).to_contain_text("No dead letters.")


def test_a_key_is_made_shown_once_and_revoked(open_console: Opening, service: Running) -> None:
    page = open_console("#/health")
    keys = page.get_by_role("region", name="Keys")
    keys.get_by_label("Name").fill("Auction house")
    keys.get_by_label("publish").check()
    keys.get_by_role("button", name="Create key").click()
    expect(keys.get_by_label("Key", exact=True)).to_have_text("tk_new_shown_once")
    assert service.state.keys[-1]["roles"] == ["publish", "subscribe"]
    keys.get_by_role("button", name="Revoke Auction house").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(keys.locator("tr", has_text="Auction house")).to_contain_text("revoked")
    expect(keys).to_contain_text("Subscriptions paused: 3")
    expect(keys.get_by_text("tk_new_shown_once")).to_have_count(0)


def test_a_key_without_the_role_is_told_whose_business_keys_are(open_console: Opening, complaints: Complaints) -> None:
    complaints.expected = {403}
    page = open_console("#/health", key=SUBSCRIBER)
    expect(page.get_by_text("Only administrators may see keys.")).to_be_visible()
