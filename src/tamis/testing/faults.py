"""Sources and sinks that fail on purpose, to test what recovers from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


class Fault(Enum):
    """Fault of a `FaultySource` in place of an item."""

    END = "end"
    ABORT = "abort"


@dataclass(frozen=True)
class Pause:
    """Waits so many seconds before the next item."""

    seconds: float


class SourceAbortedError(RuntimeError):
    """The source broke off; iterating again resumes after the break."""


class SinkFailedError(RuntimeError):
    """The sink refused a write."""


class FaultySource(Generic[Item]):
    """Items in order, with faults among them.

    `Fault.END` ends the iteration and `Fault.ABORT` raises `SourceAbortedError`. Each fault happens once: a new
    iteration goes on behind it, from the item after the last one that was given. `replay` goes back, as a source does
    whose reader had not yet committed.
    """

    def __init__(self, items: Sequence[Item | Fault | Pause]) -> None:
        self._items = list(items)
        self._position = 0

    def __iter__(self) -> Iterator[Item]:
        while self._position < len(self._items):
            item = self._items[self._position]
            self._position += 1
            if isinstance(item, Pause):
                time.sleep(item.seconds)
            elif item is Fault.END:
                return
            elif item is Fault.ABORT:
                raise SourceAbortedError(f"aborted before item {self._position} of {len(self._items)}")
            else:
                yield item

    @property
    def exhausted(self) -> bool:
        """True if everything, faults included, has been given."""
        return self._position == len(self._items)

    def replay(self, count: int) -> None:
        """Goes back so many items; the faults among them do not happen again."""
        given = [item for item in self._items[: self._position] if not isinstance(item, Fault | Pause)]
        again = given[len(given) - count :] if count else []
        self._items = [*again, *self._items[self._position :]]
        self._position = 0


@dataclass
class FailingSink:
    """A sink that accepts so many writes, then fails so many times, then works again.

    Call it in place of `write`, with whatever arguments that takes. `attempts` counts the calls and `written` what
    came through. A failure happens before the write, or after it where `late`: the write then came through all the
    same, which is how repeats come about.
    """

    write: Callable[..., Any]
    after: int
    failures: int = 1
    late: bool = False
    attempts: int = field(default=0, init=False)
    written: int = field(default=0, init=False)

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.attempts += 1
        fails = self.after < self.attempts <= self.after + self.failures
        if fails and not self.late:
            raise SinkFailedError(f"write {self.attempts} failed, as asked")
        answer = self.write(*args, **options)
        self.written += 1
        if fails:
            raise SinkFailedError(f"write {self.attempts} failed after it was done, as asked")
        return answer
