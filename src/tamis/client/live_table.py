"""The content of a join, kept up by its notifications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tamis.client.answers import Change, Content, Notification


class LiveTable:
    """Results by id, as of a cursor: what the service says the content is, once every notification up to there is in.

    `changes` of the notifications that `take` was given last say how it came to be so. One thread at a time.
    """

    def __init__(self, content: Content) -> None:
        self.rows: dict[str, Mapping[str, Any]] = {}
        self.columns = content.columns
        self.cursor = ""
        self.changes: list[Change] = []
        self.reset(content)

    def take(self, notification: Notification) -> bool:
        """Applies a notification whole; false, and nothing is applied, if some were missed before it: start anew."""
        held = dict(self.rows)
        for change in notification.changes:
            if change.change == "begins":
                held.clear()
            elif change.change == "removed":
                if held.pop(change.id, None) != change.row:
                    return False
            elif change.id in held:
                return False
            else:
                held[change.id] = change.row
        self._become(held, notification.cursor)
        return True

    def reset(self, content: Content) -> None:
        """Starts anew; what differs is in `changes`, as if it had been told."""
        self._become(dict(content.rows), content.cursor)

    def _become(self, rows: dict[str, Mapping[str, Any]], cursor: str) -> None:
        gone = [Change("removed", id, row) for id, row in self.rows.items() if rows.get(id) != row]
        come = [Change("added", id, row) for id, row in rows.items() if self.rows.get(id) != row]
        self.rows, self.cursor, self.changes = rows, cursor, gone + come

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows.values())
