"""A bystander publishes and reads what it subscribed to while somebody else attacks the service.

    python -m tests.service.attacks --seconds 60                 # a quarter of an hour; prints the table
    python -m tests.service.attacks --only H1,H4 --seconds 20

Each attack is measured by itself: the bystander alone, then beside the attack. The times are from a publish until its
notification has come by server-sent events. Attacks H1-H6 and M1-M5 are in `attackers`, and run in processes of their
own; the bystander's requests come from another address than theirs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks.service.server import Server, kill_process
from tests.service.bystander import Bystander, Memory, p99, resident

RATIO = 2.0  # of the bystander's p99 during an attack to that before
MEMORY = 300  # MB that the service and what it started may grow by
SCHEMA: Final = {
    "attributes": {"title": "string", "note": "string", "price": "float", "qty": "integer", "tags": "string"},
    "event_types": {"sale": dict.fromkeys(["title", "note", "price", "qty", "tags"], "optional")},
}
_KEYS: Final = {"access": {"publish": "keys", "subscribe": "keys"}}
# A rate that one process here can exceed: by default it is 2,000 a second.
_RATES: Final = {"requests_per_second": 20, "request_burst": 60}
_PROXIED: Final = {"trusted_proxies": ["127.0.0.66"], "limits": _RATES}
PLACES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "H1": ("H1", {}),
    "H2": ("H2", {}),
    "H3": ("H3", {}),
    "H4": ("H4", {}),
    "H5": ("H5", {}),
    "M1": ("M1", {}),
    "M2": ("M2", {}),
    "M3": ("M3", {}),
    "H5 keys": ("H5", _KEYS),
    "H6": ("H6", _KEYS),
    "M4": ("M4", _PROXIED),
}
"""The attack, and the settings of the service that it is made on; else the defaults."""
ALL: Final = (*PLACES, "M5")

_WARM = 15.0  # seconds of publishing before anything is measured
_PATIENCE = 30.0  # seconds that `tamis validate` has


@dataclass
class Measured:
    """One attack: what came of it, the bystander's p99 in seconds before and during it, and megabytes of growth."""

    name: str
    held: bool
    how: str
    before: float = math.nan
    during: float = math.nan
    answer_before: float = math.nan
    answer_during: float = math.nan
    grown: float = 0.0
    by: dict[str, float] = field(default_factory=dict)
    refused: int = 0  # of the bystander's publishes

    @property
    def ratio(self) -> float:
        return self.during / self.before

    @property
    def faults(self) -> list[str]:
        """What should not be, the times apart."""
        found = [] if self.held else ["not refused"]
        found += [f"{self.refused} publishes of the bystander refused"] if self.refused else []
        return found + ([f"{self.grown:.0f} MB"] if self.grown > MEMORY else [])

    def __str__(self) -> str:
        times = f"{self.before:8.2f} {self.during:8.2f} {self.ratio:6.2f}"
        times += f"   {self.answer_before:8.3f} {self.answer_during:8.3f}"
        late = [f"p99 {self.ratio:.1f} × as long"] if self.ratio > RATIO else []
        parts = ", ".join(f"{name} {size:+.0f}" for name, size in self.by.items() if abs(size) >= 10)
        verdict = "; ".join(self.faults + late) or "ok"
        return f"{self.name:<8} {times}   {self.grown:6.0f} ({parts})  {verdict}\n         {self.how}"


HEADER = (
    f"{'':<8} {'publish to notification':>24}   {'publish to answer':>17}   {'memory':>6}\n"
    f"{'attack':<8} {'before':>8} {'during':>8} {'ratio':>6}   {'before':>8} {'during':>8}   {'MB':>6}  verdict"
)


async def measure(server: Server, bystander: Bystander, place: str, seconds: float) -> Measured:
    """The bystander alone, and then beside the attack."""
    quiet = await bystander.over(seconds)
    await bystander.settled(quiet)
    rested, memory = Memory(server.pid), Memory(server.pid)
    rested.look()
    watching = asyncio.create_task(memory.watch())
    attacking = asyncio.create_task(_attack(server, PLACES[place][0], seconds))
    beside = await bystander.over(seconds)
    held, how = await attacking
    await bystander.settled(beside)
    watching.cancel()
    return Measured(
        place,
        held,
        how,
        p99(bystander.waited(quiet)),
        p99(bystander.waited(beside)),
        p99(bystander.answers(quiet)),
        p99(bystander.answers(beside)),
        memory.total - rested.total,
        {name: most - rested.most.get(name, 0.0) for name, most in memory.most.items()},
        sum(n in bystander.refused for n in (*quiet, *beside)),
    )


async def _attack(server: Server, name: str, seconds: float) -> tuple[bool, str]:
    """The attack, in a process of its own that ends with it."""
    command = (sys.executable, "-m", "tests.service.attackers", name, server.url, str(seconds))
    process = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        async with asyncio.timeout(seconds + 180):
            told, _ = await process.communicate(server.key.encode() + b"\n")
    except TimeoutError:
        return False, "the attack came to no end: it was not answered for three minutes"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        return False, "the attack itself failed"
    outcome = json.loads(told)
    return outcome["held"], outcome["how"]


@contextmanager
def service(folder: Path, settings: dict[str, Any]) -> Iterator[Server]:
    """`tamis serve` in a folder; nothing of it is left afterwards."""
    folder.mkdir()
    schema, file = folder / "schema.yaml", folder / "settings.yaml"
    schema.write_text(yaml.safe_dump(SCHEMA), encoding="utf-8")
    file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    server = Server(folder / "state", schema, "--settings", str(file))
    started: list[tuple[int, str]] = []
    try:
        server.start()
        server.wait_until_ready()
        yield server
    finally:
        with suppress(RuntimeError):
            started = server.descendants()
        server.stop()
        left = {pid for pid, _ in started if Path(f"/proc/{pid}").exists()}
        for pid in left:
            kill_process(pid)


def run(only: Sequence[str], seconds: float, folder: Path, tell: Any = lambda measured: None) -> list[Measured]:
    """All attacks that are named, the services that they need one after another."""
    found: list[Measured] = []
    for settings in ({}, _KEYS, _PROXIED):
        places = [place for place in only if place in PLACES and PLACES[place][1] == settings]
        if not places:
            continue
        with service(folder / f"service-{len(found)}", settings) as server:
            found += asyncio.run(_all_on(server, places, seconds, tell))
    if "M5" in only:
        found.append(validate_aliases(folder))
        tell(found[-1])
    return found


async def _all_on(server: Server, places: Sequence[str], seconds: float, tell: Any) -> list[Measured]:
    bystander = Bystander(server)
    await bystander.begin()
    try:
        await bystander.settled(await bystander.over(_WARM))
        found = []
        for place in places:
            found.append(await measure(server, bystander, place, seconds))
            tell(found[-1])
        return found
    finally:
        await bystander.end()


def validate_aliases(folder: Path) -> Measured:
    """M5: a schema of a few hundred characters whose aliases come to gigabytes; the process by itself."""
    names = [f"&a0 [{', '.join(['x'] * 10)}]"]
    names += [f"&a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    file, said = folder / "aliases.yaml", folder / "said.txt"
    file.write_text(f"attributes: {{p: [{', '.join(names)}]}}\nevent_types: {{e: {{}}}}\n", encoding="utf-8")
    began, most = time.monotonic(), 0.0
    # What it may take is bounded, or it would take the machine with it.
    command = ["bash", "-c", 'ulimit -v 8000000; exec "$@"', "-", sys.executable, "-m", "tamis.cli", "validate"]
    with said.open("wb") as told:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen([*command, str(file)], env=environment, stdout=told, stderr=told)
        try:
            while process.poll() is None and time.monotonic() - began < _PATIENCE:
                most = max(most, resident(process.pid))
                time.sleep(0.02)
        finally:
            process.kill()
            process.wait()
    took, length = time.monotonic() - began, said.stat().st_size
    held = length < 10_000 and took < _PATIENCE and process.returncode == 2
    return Measured("M5", held, f"{took:.1f} s, {most:.0f} MB in all, a message of {length:,} bytes", grown=most)


def main() -> int:
    """Runs what is asked for, and prints the table as it grows."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--only", default=",".join(ALL), help=f"of {', '.join(ALL)}")
    asked.add_argument("--seconds", type=float, default=60.0, help="of each attack, and of the bystander alone before")
    given = asked.parse_args()
    only = [name.strip() for name in given.only.split(",")]
    if unknown := set(only) - set(ALL):
        asked.error(f"there is no attack {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    _say(HEADER)
    with tempfile.TemporaryDirectory(prefix="tamis-attacks-") as folder:
        found = run(only, given.seconds, Path(folder), _say)
    bad = [each.name for each in found if each.faults or each.ratio > RATIO]
    _say(f"load {os.getloadavg()[0]:.1f}; " + (f"missed: {', '.join(bad)}" if bad else "all held"))
    return int(bool(bad))


def _say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
