"""How the console's files are served."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from tamis.service.http.console.router import pages
from tests.service.http.console.fake_api import create_fake
from tests.service.http.console.fake_state import State


@pytest.fixture
def client() -> TestClient:
    return TestClient(create_fake(State()))


def test_the_console_is_at_its_address_with_and_without_a_slash(client: TestClient) -> None:
    answer = client.get("/console")
    assert answer.status_code == 200
    assert answer.url.path == "/console/"
    assert "<title>Tamis</title>" in answer.text


def test_the_servers_own_address_leads_to_the_console(client: TestClient) -> None:
    assert client.get("/").url.path == "/console/"


def test_every_file_is_served_under_the_policy_and_with_its_type(client: TestClient) -> None:
    for path, page in pages().items():
        answer = client.get(f"/console/{path}")
        assert answer.content == page.content
        assert answer.headers["content-type"] == page.type
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["nothing.js", "../router.py", "..%2frouter.py", "styles", "styles/", "main.js/"])
def test_nothing_but_the_files_is_served(client: TestClient, path: str) -> None:
    assert client.get(f"/console/{path}").status_code == 404


def test_a_file_that_the_browser_has_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/console/main.js")
    again = client.get("/console/main.js", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""


def test_no_file_names_another_host_or_holds_script_or_style_within_the_page() -> None:
    for path, page in pages().items():
        text = page.content.decode()
        hosts = set(re.findall(r"https?://([a-z0-9.-]+)", text)) - {"www.w3.org", "example.org"}
        assert hosts == set(), path
        assert "innerHTML" not in text, path
        if page.type.startswith("text/html"):
            assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", text), path
