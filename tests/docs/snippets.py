"""The blocks of a page that a reader would paste: Python and commands, with what they print."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import CodeType
from typing import NamedTuple

TUTORIAL = Path(__file__).resolve().parents[2] / "docs/tutorial.md"
"""The page that a test of its own runs."""

_BLOCK = re.compile(r"^```(python[^\n]*|sh)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


class Snippet(NamedTuple):
    """A block: its fence, where it begins, its text, and what it prints (None: the page does not say)."""

    fence: str
    line: int
    code: str
    output: str | None

    def with_others(self, other: Mapping[str, str]) -> str:
        """The text, with other addresses and numbers in place of the page's."""
        text = self.code
        for said, used in other.items():
            text = text.replace(said, used)
        return text

    def compiled(self, page: Path, other: Mapping[str, str]) -> CodeType:
        """The code that does it, with line numbers as in the page, so that a failure shows its place."""
        return compile("\n" * self.line + self.with_others(other), str(page), "exec")


def blocks(page: Path) -> list[Snippet]:
    """All blocks of a page, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    return [
        Snippet(found[1], text.count("\n", 0, found.start(2)), found[2], found[3]) for found in _BLOCK.finditer(text)
    ]


def snippets(page: Path) -> list[Snippet]:
    """Those that are Python."""
    return [block for block in blocks(page) if block.fence != "sh"]
