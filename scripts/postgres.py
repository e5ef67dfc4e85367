"""A PostgreSQL server of one's own, for tests: on loopback, in a temporary folder, gone when it is no longer needed.

    python -m scripts.postgres            # prints the address, runs until interrupted

Takes the newest server that is installed; where there is none and the user is root on Debian, installs one. PostgreSQL
does not run as root: then it runs as another user of the system.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from scripts.server_process import NotStartedError, ServerProcess, free_ports

_USERS = ("postgres", "nobody")
_FOLDERS = ("/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt/postgresql", "/usr/pgsql")
_INSTALL_SECONDS = 600


class PostgresUnavailableError(Exception):
    """There is no server to be had here; the text says what it would take."""


class Postgres:
    """A server while it is entered; `new_database` makes a database in it and says where it is."""

    def __init__(self, *, fsync: bool = True) -> None:
        self.fsync = fsync
        self._folder = Path()
        self._port = 0
        self._programs = Path()
        self._process: ServerProcess | None = None

    def __enter__(self) -> Self:
        self._programs = installed_programs() or _install()
        self._folder = Path(tempfile.mkdtemp(prefix="tamis-postgres-"))
        user = _other_user()
        if user is not None:
            os.chown(self._folder, user.pw_uid, user.pw_gid)
        prepared = subprocess.run(
            [
                f"{self._programs}/initdb",
                "-D",
                f"{self._folder}/data",
                "-U",
                "tamis",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--no-sync",
            ],
            **_as(user),
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if prepared.returncode:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise PostgresUnavailableError(f"initdb failed: {prepared.stderr.strip()[-300:]}")
        (self._port,) = free_ports(1)
        try:
            self.start()
        except NotStartedError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise PostgresUnavailableError(f"PostgreSQL did not start: {error}") from error
        return self

    def start(self) -> None:
        """Starts it, also again after `kill`, over the same databases; NotStartedError if it does not come up."""
        settings = ["-c", f"fsync={'on' if self.fsync else 'off'}", "-c", "listen_addresses=127.0.0.1"]
        where = ["-D", f"{self._folder}/data", "-p", f"{self._port}", "-k", f"{self._folder}"]
        self._process = ServerProcess(
            [f"{self._programs}/postgres", *where, *settings],
            "ready to accept connections",
            **_as(_other_user()),
            cwd=self._folder,
        )

    def kill(self) -> None:
        """Ends it at once, as a power cut would."""
        assert self._process is not None
        self._process.stop(signal.SIGKILL)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            # Fast shutdown: it does not wait for clients that have forgotten to leave.
            self._process.stop(signal.SIGINT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def new_database(self) -> str:
        """The address of a new, empty database."""
        name = f"tamis_{uuid.uuid4().hex}"
        server = ["-h", "127.0.0.1", "-p", str(self._port), "-U", "tamis"]
        subprocess.run([self._programs / "createdb", *server, name], check=True, capture_output=True)
        return f"postgresql+psycopg://tamis@127.0.0.1:{self._port}/{name}"


def installed_programs() -> Path | None:
    """The folder with the programs of the newest server there is, or None."""
    found = [Path(program).parent for program in [shutil.which("initdb")] if program]
    for folder in _FOLDERS:
        found += [program.parent for program in Path(folder).parent.glob(f"{Path(folder).name}*/**/bin/initdb")]
    servers = [folder for folder in found if (folder / "postgres").exists()]
    return max(servers, key=lambda folder: [int(part) for part in re.findall(r"\d+", str(folder))], default=None)


def _install() -> Path:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise PostgresUnavailableError("needs a PostgreSQL server: install the package postgresql")
    apt = ["apt-get", "install", "--yes", "--no-install-recommends", "postgresql"]
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update"], apt):
        try:
            told = subprocess.run(
                command, env=quiet, capture_output=True, text=True, check=False, timeout=_INSTALL_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise PostgresUnavailableError("the package postgresql did not install in time") from error
    programs = installed_programs()
    if programs is None:
        raise PostgresUnavailableError(f"the package postgresql could not be installed: {told.stderr.strip()[-300:]}")
    return programs


def _other_user() -> pwd.struct_passwd | None:
    """Whom the server runs as: None for whoever runs this."""
    if os.geteuid() != 0:
        return None
    for name in _USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise PostgresUnavailableError("PostgreSQL does not run as root, and there is no user postgres or nobody")


def _as(user: pwd.struct_passwd | None) -> dict[str, Any]:
    return {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


if __name__ == "__main__":
    try:
        with Postgres() as server:
            print(server.new_database(), flush=True)
            signal.pause()
    except KeyboardInterrupt:
        pass
    except PostgresUnavailableError as error:
        sys.exit(str(error))
