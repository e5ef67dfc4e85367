"""Position of a reader in a subscription's notifications."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tamis.client.answers import Notification
from tamis.client.event_stream import EventStream

_REMEMBERED = 10_000


@dataclass(slots=True)
class Reading:
    """A cursor, and the ids seen of late: however often the connection is lost, each notification comes out once."""

    cursor: str = ""
    _seen: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def new(self, notifications: Iterator[Notification]) -> Iterator[Notification]:
        """Notifications not seen before; the cursor is moved when the one before was dealt with."""
        for notification in notifications:
            if notification.id not in self._seen:
                self._seen[notification.id] = None
                if len(self._seen) > _REMEMBERED:
                    self._seen.popitem(last=False)
                yield notification
            self.cursor = notification.cursor

    def from_line(self, stream: EventStream, line: str) -> Iterator[Notification]:
        """Event that a line of an event stream completes."""
        return self.new(Notification.read(json.loads(data)) for data in stream.take(line))
