"""The tutorial, done as it says: blocks run one after the other in one folder, commands as processes of their own."""

from __future__ import annotations

import io
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from benchmarks.service.server import Server
from tamis.broker.access import BrokerAway, ask_status
from tests.docs.snippets import TUTORIAL, Snippet, blocks

SERVICE = "127.0.0.1:8080"
PRINTED_WITH = "20_000"  # filters, where the page shows what is printed
_ADDRESSES = (SERVICE, "127.0.0.1:7070", "127.0.0.1:7071")
_FILE = re.compile(r"# (\w+\.py)\b")
_PATIENCE = 60.0


class Printed(NamedTuple):
    """A block that was run, and what it printed."""

    block: Snippet
    output: str


class Tutorial:
    """The page on its way through a folder, which has to be the working directory.

    `names` are those that its Python has made. The page's addresses are replaced by free ones, and its number of
    filters may be another. A block that begins with the name of a file is also written to it. What the commands start
    is stopped at the end.
    """

    def __init__(self, folder: Path, filters: str = PRINTED_WITH) -> None:
        self.folder = folder
        self.server: Server | None = None
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self._addresses = dict(zip(_ADDRESSES, _free_addresses(len(_ADDRESSES)), strict=True))
        self._replaced = self._addresses | {f"FILTERS = {PRINTED_WITH}": f"FILTERS = {filters}"}
        self._broker: subprocess.Popen[bytes] | None = None

    def steps(self) -> Iterator[Printed]:
        """Runs block after block."""
        for block in blocks(TUTORIAL):
            printed = io.StringIO()
            if block.fence == "sh":
                for line in block.with_others(self._replaced).splitlines():
                    self._start(shlex.split(line))
            else:
                if file := _FILE.match(block.code):
                    (self.folder / file[1]).write_text(block.code, encoding="utf-8")
                with redirect_stdout(printed):
                    exec(block.compiled(TUTORIAL, self._replaced), self.names)
            yield Printed(block, printed.getvalue())

    def _start(self, words: list[str]) -> None:
        match words:
            case ["tamis", "serve", "--schema", schema, *options]:
                self.server = Server(self.folder / "tamis-state", self.folder / schema, *options)
                self.server.port = int(self._addresses[SERVICE].rpartition(":")[2])
                self.server.start()
                self.server.wait_until_ready()
            case ["tamis", "broker", *options]:
                environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
                self._broker = subprocess.Popen(
                    [sys.executable, "-m", "tamis.cli", "broker", *options],
                    stdin=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=environment,
                )
                address = options[options.index("--listen") + 1]
                _wait_until(lambda: _is_linked(address), "the brokers to be linked")
            case _:
                raise ValueError(f"the tutorial has a command that is not known here: {shlex.join(words)}")

    def __enter__(self) -> Self:
        sys.path.append(str(self.folder))  # what a server started here would look into for operators
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        sys.path.remove(str(self.folder))
        if self._broker is not None:
            self._broker.terminate()
            self._broker.wait(_PATIENCE)
        if self.server is not None:
            self.server.stop()


def _is_linked(address: str) -> bool:
    try:
        links = ask_status(address)["links"]
    except BrokerAway:
        return False
    return bool(links) and all(link["state"] == "open" and link["in_use"] for link in links)


def _wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {_PATIENCE:.0f} s for {what}")
        time.sleep(0.05)


def _free_addresses(count: int) -> list[str]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    free = [f"127.0.0.1:{probe.getsockname()[1]}" for probe in probes]
    for probe in probes:
        probe.close()
    return free
