"""Tables in Markdown, for pages that are made from measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]], words: int | None = None) -> str:
    """A table; columns after the first `words` are numbers, which are aligned to the right."""
    words = len(header) if words is None else words
    rule = f"|{'---|' * words}{'--:|' * (len(header) - words)}"
    return "\n".join([_line(header), rule, *map(_line, lines)])


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
