"""Server-sent events, from lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class EventStream:
    """Takes lines one by one and gives the data of an event when its last line is in.

    `retry` is how many seconds the server wants readers to wait before they come back.
    """

    retry: float | None = None
    _data: list[str] = field(default_factory=list)

    def take(self, line: str) -> Iterator[str]:
        """The event that this line completes, if it does."""
        if not line:
            if self._data:
                data, self._data = "\n".join(self._data), []
                yield data
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "retry" and value.isdecimal():
            self.retry = int(value) / 1000
