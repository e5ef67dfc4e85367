"""A kill at any moment leaves each transaction whole or undone."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tamis.service.store import Store
from tests.service.store.made import recorded

ROOT = Path(__file__).parents[3]
KILLS = 8


def killed_after(url: str, lines: int, delay: float) -> list[list[str]]:
    """What a restless writer had been told when it was killed, without warning, some lines into its work."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.service.store.restless", url],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines)]
        # Anywhere in what it does next, not only at its beginning.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=delay)
        process.kill()
        said += process.stdout.readlines()
    # The last line may be half a line: it was not yet said.
    return [json.loads(line) for line in said if line.endswith("\n")]


@pytest.mark.timeout(300)
def test_what_was_acknowledged_is_there_and_nothing_is_there_by_halves(any_store_url: str) -> None:
    store = Store.open(any_store_url)
    told: defaultdict[str, list[list[str]]] = defaultdict(list)
    draw = random.Random(1)
    state: dict[int, str] = {}
    at = 0
    for _ in range(KILLS):
        for what, *rest in killed_after(any_store_url, draw.randint(1, 40), draw.uniform(0, 0.02)):
            told[what].append(rest)
        # A follower goes on from where it was, kill after kill.
        while rows := store.subscriptions.changes(at, 10):
            for row in rows:
                state[row.number] = row.filter or ""
            at = rows[-1].revision
    assert at == store.subscriptions.revision

    everything = {one.id: one for one in store.subscriptions.list(None, limit=1_000_000)}
    cancelled = {id for [id] in told["cancelled"]}
    for id, ticket in told["created"]:
        assert store.subscriptions.ticket_fits(id, ticket)
        assert id not in cancelled or everything[id].state == "cancelled"
    assert state == {one.number: one.filter if one.state == "active" else "" for one in everything.values()}
    assert len({one.revision for one in everything.values()}) == len(everything)

    counts = Counter((one.owner, one.state) for one in everything.values())
    for (owner, which), count in counts.items():
        assert store.subscriptions.count(owner, which) == count
    assert store.subscriptions.count(None) == len(everything)
    # At most the one batch of each kill that was never acknowledged is there beyond those that were, and whole.
    assert 3 * len(told["imported"]) <= store.subscriptions.count("importer") <= 3 * (len(told["imported"]) + KILLS)
    assert store.subscriptions.count("importer") % 3 == 0

    head = store.notifications.head()
    positions = [one.position for one in store.notifications.after(1, 0, 1_000_000)]
    assert positions == list(range(1, head + 1))
    assert set(store.notifications.events(positions)) == set(positions)
    assert len(store.notifications.since(0, head, 1_000_000)) in (2 * head, 2 * head - 1)
    assert head >= max(int(position) for [position] in told["recorded"])
    assert not any(recorded(store, position, (position, 1)) for position in positions)
    assert told["merged"]
    log = store.notifications.segments
    log.tidy()
    with log._database.read() as connection:
        named = {f"{one.name}.matches" for one in log.names(connection)[1]}
    assert {path.name for path in (log.folder.glob("*") if log.folder is not None else ())} == (
        named if log.folder is not None else set()
    )
    store.close()
