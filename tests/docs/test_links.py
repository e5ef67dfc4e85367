"""Links of the pages lead somewhere, to headings that are there, and every page is linked from another one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/**/*.md"))]
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@cache
def prose(page: Path) -> str:
    """A page without its code."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[tuple[Path, str]]:
    """Where a page leads within the tree: a path, and a heading or nothing."""
    found = []
    for link in _LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", link):
            path, _, heading = link.partition("#")
            found.append(((page.parent / path).resolve() if path else page, heading))
    return found


@cache
def headings(page: Path) -> set[str]:
    """The names that headings have in links: lower case, without punctuation, hyphens for spaces."""
    lines = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_what_is_there(page: Path) -> None:
    for path, heading in links(page):
        assert path.exists(), f"{page.name} leads to {path}"
        assert not heading or heading in headings(path), f"{page.name} leads to {path.name}#{heading}"


def test_every_page_is_linked_from_another_one() -> None:
    linked = {path for page in PAGES for path, _ in links(page) if path != page}
    linked |= {path / "README.md" for path in linked if path.is_dir()}
    assert [page.name for page in PAGES if page not in linked and page != ROOT / "README.md"] == []


def test_every_picture_is_shown() -> None:
    shown = {path for page in PAGES for path, _ in links(page)}
    assert [path.name for path in sorted(ROOT.glob("docs/**/*.png")) if path not in shown] == []
