"""An event loop in a thread of its own, for an asynchronous client that is also asked from outside any loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class LoopThread:
    """Runs coroutines, for callers in any thread, until it is closed."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Answer]) -> Future[Answer]:
        """Begins the work; its answer comes when it is done."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Ends the loop. Whatever still runs in it is over."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
