"""The editor while it suggests."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

from tests.service.http.console.conftest import Complaints, Opening


def editor_that_knows(what: str, open_console: Opening, complaints: Complaints) -> tuple[Page, Locator, Locator]:
    """The page, the field and what is suggested, once the service has told `what`; unfinished filters are refused."""
    complaints.expected = {422}
    page = open_console("#/editor")
    with page.expect_response(f"**/v1/{what}"):
        page.reload()
    options = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    return page, page.get_by_label("Filter", exact=True), options
