"""Questions to parts that may hang: one at a time, in a thread of its own, and not waited for for long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

T = TypeVar("T")

PATIENCE: Final = 2.0  # seconds


class Probe(Generic[T]):
    """A question to a part, for any number of callers at once. For one event loop at a time.

    Those who come while it is being asked get the same answer. So a part that hangs has one thread of its own, however
    many callers come and give up, and takes none from those that serve requests.
    """

    def __init__(self, ask: Callable[[], T], patience: float = PATIENCE) -> None:
        self._ask = ask
        self._patience = patience
        self._asked: asyncio.Future[T] | None = None

    async def answer(self) -> T:
        """Answer of the part, or its error; a TimeoutError if it says nothing for some seconds."""
        loop = asyncio.get_running_loop()
        if self._asked is None or self._asked.done() or self._asked.get_loop() is not loop:
            self._asked = self._begun(loop)
        async with asyncio.timeout(self._patience):
            return await asyncio.shield(self._asked)

    def _begun(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[T]:
        asked: asyncio.Future[T] = loop.create_future()
        # Perhaps nobody waits any more.
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())

        def settle(answer: T | None, error: BaseException | None) -> None:
            if asked.cancelled():
                return
            if error is not None:
                asked.set_exception(error)
            else:
                asked.set_result(answer)  # type: ignore[arg-type]

        def work() -> None:
            answer, error = None, None
            try:
                answer = self._ask()
            except Exception as failed:  # noqa: BLE001 - it is raised where the answer is awaited
                error = failed
            # The loop may have ended meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, answer, error)

        # Not of a pool: at the end of the program, pools wait for their threads.
        threading.Thread(target=work, name="probe", daemon=True).start()
        return asked
