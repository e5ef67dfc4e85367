"""kill -9 while appending, again and again: whatever was acknowledged is there, once, where it was said to be."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tamis.eventlog import Receipt
from tamis.eventlog.spool import SpoolReader, SpoolWriter
from tests.eventlog.spool.appended import bodies, ids

ROOT = Path(__file__).resolve().parents[3]


def killed_after(folder: Path, start: int, lines: int, moment: float) -> list[tuple[int, int, int]]:
    """What a writer acknowledged before it was killed: a moment after so many acknowledgements."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.eventlog.spool.crash_child", str(folder), str(start)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    said = [child.stdout.readline() for _ in range(lines)]
    end = time.perf_counter() + moment
    while time.perf_counter() < end:
        pass
    child.kill()
    said += child.stdout.readlines()
    child.wait()
    number, offset, count = zip(*(map(int, line.split()) for line in said), strict=True)
    return list(zip(number, offset, count, strict=True))


@pytest.mark.parametrize("kills", [4, pytest.param(30, marks=pytest.mark.slow)])
def test_no_acknowledged_event_is_lost_when_the_writer_is_killed(tmp_path: Path, kills: int) -> None:
    folder = tmp_path / "spool"
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    acknowledged: list[tuple[int, int, int]] = []
    for kill in range(kills):
        acknowledged += killed_after(folder, kill * 1_000_000, chance.randint(1, 60), chance.random() * 0.003)
        _, seen = SpoolReader(folder).bounds()
        assert seen >= max(offset + count for _, offset, count in acknowledged), f"seed {seed}"
    writer = SpoolWriter(folder)
    for number, offset, count in acknowledged[::17]:
        repeat = writer.submit(ids(number * 10, count), bodies(number * 10, count, number % 500), str(number))
        assert repeat.result() == Receipt(offset, count, repeated=True), f"seed {seed}"
    writer.close()
    reader = SpoolReader(folder)
    first, end = reader.bounds()
    assert first == 0
    batches = list(reader.read(0, end))
    there = [id for batch in batches for id in batch["id"].to_pylist()]
    assert len(there) == end
    assert len(set(there)) == end, f"seed {seed}"
    for number, offset, count in acknowledged:
        expected = ids(number * 10, count).to_pylist()
        assert there[offset : offset + count] == expected, f"seed {seed}"
