"""Server-sent events, from lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class EventStream:
    """Takes lines one by one and gives the data of an event when its last line is in.

    What else a stream may say, such as when to come back, is passed over: the client knows that by itself.
    """

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
