"""Many may read at once, or one may change."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedAccess:
    """Readers share, a change is alone. A change that waits goes before readers that come after it.

    A thread must not ask again while it has it.
    """

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._readers = self._waiting = 0
        self._changing = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._turn:
            self._turn.wait_for(lambda: not self._changing and not self._waiting)
            self._readers += 1
        try:
            yield
        finally:
            with self._turn:
                self._readers -= 1
                if not self._readers:
                    self._turn.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        with self._turn:
            self._waiting += 1
            self._turn.wait_for(lambda: not self._changing and not self._readers)
            self._waiting -= 1
            self._changing = True
        try:
            yield
        finally:
            with self._turn:
                self._changing = False
                self._turn.notify_all()
