"""A server in a process of its own, for tests: there once it says that it is ready, and ended whatever it does."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
from collections.abc import Sequence
from typing import Any

_STOP_SECONDS = 60


class NotStartedError(Exception):
    """The process ended before it was ready; the text is the last that it said."""


class ServerProcess:
    """A process that has said `ready`, on either of its streams. It ends by its own id, also if it does not want to."""

    def __init__(self, command: Sequence[str], ready: str, **how: Any) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how
        )
        assert self._process.stdout is not None
        said: list[str] = []
        for line in self._process.stdout:
            said.append(line)
            if ready in line:
                # A full pipe would stop it: somebody has to go on reading what it says.
                threading.Thread(target=self._process.stdout.read, daemon=True).start()
                return
        self.stop()
        raise NotStartedError("".join(said[-5:]))

    def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        """Asks it to end by a signal, and makes it end if it takes too long."""
        self._process.send_signal(by)
        try:
            self._process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
