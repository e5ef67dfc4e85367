"""Makes the pictures of docs/tutorial.md by doing all that it says, and looking at the console in the end.

python -m docs.figures.tutorial
"""

from __future__ import annotations

import os
import shutil
import tempfile
from itertools import islice
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.service.server import Server
from tamis.client import Client
from tamis.workloads.auction_lots import lots
from tests.docs.tutorial import Tutorial
from tests.service.http.console.conftest import _OPTIONS, Complaints, opened_page

PICTURES = Path(__file__).resolve().parents[1] / "images"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with Tutorial(Path(folder)) as tutorial:
            for _ in tutorial.steps():
                pass
            shutil.copy("backtest.png", PICTURES / "tutorial-backtest.png")
            assert tutorial.server is not None
            look(tutorial.server, tutorial.names["praised"].id)
        os.chdir(PICTURES)


def look(server: Server, joined: str) -> None:
    """Pictures of the console of a server at which the tutorial has been done; `joined` is the join's subscription."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=_OPTIONS)

        def opened(place: str, height: int = 760) -> Page:
            page = opened_page(
                browser, Complaints(), server.url, server.key, place, viewport={"width": 1100, "height": height}
            )
            page.set_default_timeout(90_000)
            return page

        network, join = opened("#/network", 360), opened(f"#/subscriptions/{joined}")
        network.locator("tbody tr").first.wait_for()
        _take(network, "network")
        join.locator(".results").first.wait_for()
        _take(join, "join")
        overview = opened("#/")
        with Client(server.url) as client:  # the overview shows matches that come while somebody looks
            client.publish(list(islice(lots(3), 300)))
        overview.locator(".match").first.wait_for()
        _take(overview, "console")
        browser.close()


def _take(page: Page, name: str) -> None:
    page.wait_for_timeout(1_500)  # charts are drawn after the numbers
    page.screenshot(path=PICTURES / f"tutorial-{name}.png")


if __name__ == "__main__":
    main()
