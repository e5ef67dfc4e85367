"""A broker inside another program."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import cache
from types import TracebackType
from typing import Any, Final, Self

from tamis.broker.access import Access
from tamis.broker.broker import Broker
from tamis.broker.process import BrokerProcess
from tamis.loop_thread import LoopThread

_logger: Final = logging.getLogger("tamis.broker")
_PATIENCE: Final = 60.0


@cache
def _loop() -> LoopThread:
    """gRPC has one event loop a process, so that all brokers of a process share it."""
    return LoopThread("tamis-brokers")


class BrokerThread:
    """A broker at work beside the rest of a program, from `start` to `stop`."""

    def __init__(
        self,
        broker: Broker,
        listen: str | None = "127.0.0.1:0",
        links: Sequence[str] = (),
        access: Access | None = None,
        client_access: Access | None = None,
    ) -> None:
        self._given = (broker, listen, links, access, client_access)
        self._process: BrokerProcess | None = None
        self._ready = threading.Event()
        self._running: Future[None] | None = None
        self.failure: BaseException | None = None

    def start(self) -> str | None:
        """Returns when the broker works, with the address that it listens at."""
        self._running = _loop().submit(self._run())
        self._ready.wait()
        if self.failure is not None:
            raise self.failure
        return self.process.address

    def stop(self) -> None:
        """Ends it; what it knows is on disk."""
        if self._running is not None and not self._running.done():
            self.process.stop_soon()
            self._running.result(_PATIENCE)

    @property
    def process(self) -> BrokerProcess:
        assert self._process is not None
        return self._process

    @property
    def address(self) -> str:
        assert self.process.address is not None
        return self.process.address

    def status(self) -> dict[str, Any]:
        """Status of the broker."""
        return self.process.status()

    def speak(self, outgoing: Iterator[bytes]) -> Iterator[bytes]:
        """Channel that a BrokerClient of the same program takes in place of an address."""
        return self.process.speak(outgoing)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def _run(self) -> None:
        try:
            self._process = BrokerProcess(*self._given)
            await self._process.run(lambda address: self._ready.set())
        except Exception as error:
            if self._ready.is_set():
                _logger.exception("a broker has ended")
            self.failure = error
        finally:
            self._ready.set()
