"""What a neighbour is told of filters, as messages."""

from __future__ import annotations

from collections.abc import Iterator

from tamis.broker.filters import Changes, Filters
from tamis.broker.messages import Alter, FilterChange, Table
from tamis.routing.tables import RowChange


def table_messages(number: int, filters: Filters, hop: str, most: int) -> Iterator[Table]:
    """All that the other end of a link is to know: parts of at most so many characters, and the end of them."""
    for kind, table in (("advertisements", filters.advertisements), ("subscriptions", filters.subscriptions)):
        part: list[str] = []
        size = 0
        for text in sorted(table.forwarded(hop)):
            if part and size + len(text) > most:
                yield _part(number, kind, part)
                part, size = [], 0
            part.append(text)
            size += len(text)
        if part:
            yield _part(number, kind, part)
    yield Table(number)


def alter_message(number: int, changes: Changes) -> Alter:
    """What changed since the other end was told last."""
    return Alter(number, _texts(changes.advertisements), _texts(changes.subscriptions))


def length(alter: Alter) -> int:
    """How many characters of filters a message has."""
    parts = (alter.advertisements.added, alter.advertisements.removed, alter.subscriptions.added)
    return sum(len(text) for part in (*parts, alter.subscriptions.removed) for text in part)


def _texts(change: RowChange) -> FilterChange:
    return FilterChange(tuple(filter.text for filter in change.added), change.removed)


def _part(number: int, kind: str, texts: list[str]) -> Table:
    if kind == "advertisements":
        return Table(number, advertisements=tuple(texts), last=False)
    return Table(number, subscriptions=tuple(texts), last=False)
