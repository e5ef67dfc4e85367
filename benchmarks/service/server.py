"""A real server in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from benchmarks.findings import LineSkipped

PATIENCE = 180.0


class Server:
    """`tamis serve` on a free port over a state folder, which outlives it: `start` again goes on where it was.

    `tree` is another checkout whose sources serve, and `settings` are variables of the environment (`TAMIS_…`).
    """

    def __init__(
        self,
        state: Path,
        schema: Path,
        *options: str,
        tree: Path | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.state, self.schema, self.options = state, schema, options
        self._environment = {**environment(tree), **(settings or {})}
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("the server is not started")
        return self._process.pid

    @property
    def key(self) -> str:
        """The administrator's."""
        return (self.state / "admin.key").read_text(encoding="utf-8").strip()

    def start(self) -> None:
        said = (self.state.parent / "serve.log").open("ab")
        where = ["--state", str(self.state), "--schema", str(self.schema), "--port", str(self.port)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tamis.cli", "serve", *where, *self.options],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=self._environment,
        )
        said.close()

    def kill(self) -> None:
        """The service process alone, as the kernel would: what it started has to see to itself."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()

    def wait_until_ready(self) -> None:
        """Until events are matched, not only taken."""
        self.wait_for(lambda: _answers(f"{self.url}/ready"), "the server to be ready")

    def wait_for(self, happened: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            if self._process is not None and self._process.poll() is not None:
                tail = (self.state.parent / "serve.log").read_text(errors="replace")[-2000:]
                raise LineSkipped(f"the server stopped while waiting for {what}: {tail}")
            if time.monotonic() > deadline:
                raise LineSkipped(f"waited {PATIENCE:.0f} s for {what}")
            time.sleep(0.1)

    def descendants(self) -> list[tuple[int, str]]:
        """The processes it started, and theirs: (process id, command line)."""
        return descendants(self.pid)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def environment(tree: Path | None = None) -> dict[str, str]:
    """The environment of a process that imports what this one does, with the sources of `tree` before all others."""
    first = [] if tree is None else [str(tree.resolve() / "src")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*first, *sys.path])}


def descendants(root: int) -> list[tuple[int, str]]:
    """The processes under one, by what /proc says of parents."""
    children: dict[int, list[tuple[int, str]]] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        children.setdefault(parent, []).append((int(folder.name), command))
    found, left = [], [root]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += [pid for pid, _ in below]
    return found


def kill_process(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2.0).is_success
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
