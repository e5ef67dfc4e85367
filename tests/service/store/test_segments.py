"""The match log in the store: whatever is recorded, merged, swept and opened again, what is read is what is kept."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from tamis.matchlog import Segment, merged
from tamis.matchlog.segment import Content
from tamis.service.store import Pair, Store, StoreError, Wanted, segments
from tamis.service.store.notifications import Notifications
from tests.service.store.made import NOON, events, pairs, recorded, subscribed

BATCH = 1 << 24


@dataclass
class Model:
    """What is to be read: pairs with their bindings, and the moments of events, oldest first."""

    pairs: dict[tuple[int, int], str | None] = field(default_factory=dict)
    seconds: dict[int, int] = field(default_factory=dict)

    def sweep(self, before: int) -> int:
        """Up to the first event that is to stay, in each kind: rows and segments have their own oldest events."""
        gone = 0
        for has_more in (True, False):
            its = sorted(at for at, number in self.pairs if (self.pairs[at, number] is not None) == has_more)
            staying = next((at for at in its if self.seconds[at] >= before), None)
            for pair in [pair for pair, more in self.pairs.items() if (more is not None) == has_more]:
                if staying is None or pair[0] < staying:
                    del self.pairs[pair]
                    gone += 1
        return gone

    def of(self, numbers: set[int], after: int = 0, upto: int = 1 << 62) -> list[tuple[int, int, str | None]]:
        some = sorted(pair for pair in self.pairs if pair[1] in numbers and after < pair[0] <= upto)
        return [(*pair, self.pairs[pair]) for pair in some]


def check(kept: Notifications, model: Model, rng: random.Random) -> None:
    for number in range(4):
        its = model.of({number})
        for limit in (1, 3, 1_000):
            after = rng.choice([0, *(at for at, _, _ in its)])
            found = [(one.position, one.subscription, one.bindings) for one in kept.after(number, after, limit)]
            assert found == [one for one in its if one[0] > after][:limit]
            back = [(one.position, one.subscription, one.bindings) for one in kept.before(number, after, limit)]
            assert back == [one for one in its if one[0] < after][::-1][:limit]
        assert kept.total(number) == len(its)
        buckets = Counter(NOON + timedelta(seconds=model.seconds[at] // 7 * 7) for at, _, _ in its)
        # 7 divides no whole day: spans start at multiples since 1970.
        width, start = timedelta(seconds=7), int(NOON.timestamp()) % 7
        shifted = Counter(NOON + timedelta(seconds=(model.seconds[at] + start) // 7 * 7 - start) for at, _, _ in its)
        assert sum(buckets.values()) == sum(shifted.values())
        assert kept.counts(number, NOON - timedelta(days=1), width) == sorted(shifted.items())
    for limit in (1, 4, 1_000):
        numbers = set(rng.sample(range(5), rng.randrange(5)))
        for wanted, asked in ((None, {0, 1, 2, 3}), (Wanted.of(numbers), numbers)):
            found_pairs: list[tuple[int, int, str | None]] = []
            at, upto = 0, rng.choice([1 << 62, *(at for at, _ in model.pairs)])
            while at < upto:
                some, reached = kept.concerning(wanted, at, upto, limit)
                assert reached > at
                assert all(at < pair.position <= reached for pair in some)
                found_pairs += [(pair.position, pair.subscription, pair.bindings) for pair in some]
                at = reached
            assert found_pairs == model.of(asked, 0, upto)
    positions = {at for at, _ in model.pairs}
    since = rng.randrange(max(model.seconds.values(), default=0) + 2)
    later = [at for at in positions if model.seconds[at] >= since]
    assert kept.position_at(NOON + timedelta(seconds=since)) == min(later, default=kept.head() + 1)
    oldest = kept.oldest()
    assert (oldest is None) == (not positions)
    if oldest is not None:
        assert oldest in [NOON + timedelta(seconds=model.seconds[at]) for at in positions]
        assert oldest <= NOON + timedelta(seconds=model.seconds[min(positions)])
    found_events = kept.events(sorted(positions))
    assert set(found_events) == positions
    assert all(one.body == f'{{"n":{at}}}' for at, one in found_events.items())


steps = st.lists(
    st.one_of(
        st.tuples(st.just("record"), st.integers(0, 1 << 30)),
        st.tuples(st.sampled_from(["merge", "open", "sweep"]), st.integers(0, 1 << 30)),
    ),
    min_size=1,
    max_size=25,
)


@pytest.mark.parametrize("kept_in_rows", [0, 1 << 20])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
def test_what_is_read_is_what_was_recorded_and_kept(
    tmp_path_factory: pytest.TempPathFactory, kept_in_rows: int, steps: list[tuple[str, int]]
) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('state')}/store.sqlite"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "_ROW", kept_in_rows)
        patch.setattr(segments, "_FAN", 3)
        store, model, clock, batch = Store.open(url), Model(), 0, 0
        try:
            for step, seed in steps:
                rng = random.Random(seed)
                if step == "record":
                    batch += 1
                    positions = sorted(rng.sample(range(batch * BATCH, batch * BATCH + 40), rng.randrange(1, 8)))
                    made = {(at, n): rng.choice([None, None, '{"x":1}']) for at in positions for n in range(4)}
                    made = {pair: more for pair, more in made.items() if rng.random() < 0.5}
                    its = sorted({at for at, _ in made})
                    shuffled = rng.sample(sorted(made), len(made))
                    table = pairs(*shuffled).append_column(
                        "bindings", pa.array([made[p] for p in shuffled], pa.string())
                    )
                    store.notifications.record("s", batch, events(its, NOON + timedelta(seconds=clock)), table)
                    model.pairs |= made
                    model.seconds |= {at: clock + k for k, at in enumerate(its)}
                    clock += rng.randrange(12)
                elif step == "merge":
                    store.notifications.segments.merge()
                elif step == "open":
                    store.close()
                    store = Store.open(url)
                    assert store.notifications.segments.tidy() == 0
                else:
                    before = rng.randrange(clock + 2)
                    gone = store.notifications.sweep(NOON + timedelta(seconds=before))
                    assert gone == model.sweep(before)
                check(store.notifications, model, rng)
        finally:
            store.close()


def names(store: Store) -> list[segments.Named]:
    with store.notifications.segments._database.read() as connection:
        return list(store.notifications.segments.names(connection)[1])


def files(store: Store) -> set[str]:
    folder = store.notifications.segments.folder
    assert folder is not None
    return {path.name for path in folder.glob("*")}


def fill(store: Store, batches: int, first: int = 1) -> None:
    for batch in range(first, first + batches):
        recorded(store, batch, *[(batch * BATCH + k, number) for k in range(3) for number in (1, 2, 9)])


def test_segments_of_a_level_become_one_of_the_next_and_their_files_go(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "_ROW", 0)
    fill(store, 40)
    while store.notifications.segments.merge():
        pass
    assert Counter(one.level for one in names(store)) == {1: 2, 0: 8}
    assert files(store) == {f"{one.name}.matches" for one in names(store)}
    assert store.notifications.total(9) == 120


def test_what_a_crash_left_is_removed_and_what_is_named_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_ROW", 0)
    fill(store, 2)
    (Path(str(store.notifications.segments.folder)) / "0000-left.matches").write_bytes(b"half")
    assert store.notifications.segments.tidy() == 1
    assert files(store) == {f"{one.name}.matches" for one in names(store)}


def test_of_a_folder_that_services_share_only_what_is_old_is_removed(
    any_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = any_store.notifications.segments
    monkeypatch.setattr(log, "folder", tmp_path / "shared")
    folder = log.made_folder()
    for name, age in (("young", 60), ("old", 4_000)):
        (folder / f"{name}.matches").write_bytes(b"written by one that matched before")
        os.utime(folder / f"{name}.matches", (time.time() - age,) * 2)
    assert log.tidy() == (2 if log._database.is_sqlite else 1)


def test_a_batch_that_is_refused_leaves_no_file(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_ROW", 0)
    fill(store, 1)
    before = files(store)
    with pytest.raises(StoreError, match="at or below the head"):
        recorded(store, 2, (BATCH, 1))
    assert not recorded(store, 1, (7 * BATCH, 1)), "this batch is there already"
    assert files(store) == before


def test_a_merge_does_not_bring_back_what_retention_dropped_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "_ROW", 0)
    fill(store, 16)
    log = store.notifications.segments

    def meanwhile(parts: Sequence[Segment]) -> Content:
        log.sweep(NOON + timedelta(hours=1))
        return merged(parts)

    monkeypatch.setattr(segments, "merged", meanwhile)
    assert not log.merge()
    assert (names(store), files(store)) == ([], set())
    assert store.notifications.total(1) == 0


def test_a_reader_goes_on_when_its_segments_are_merged_under_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_ROW", 0)
    fill(store, 16)
    other = Store.open(store.url)
    try:
        opened = other.notifications.segments._opened
        once = [True]

        def late(*given: object) -> object:
            if once.pop() if once else False:
                assert store.notifications.segments.merge()
            return opened(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(other.notifications.segments, "_opened", late)
        assert len(other.notifications.after(1, 0)) == 48
    finally:
        other.close()


def test_a_missing_or_damaged_file_is_named_with_its_remedy(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_ROW", 0)
    fill(store, 1)
    (path,) = Path(str(store.notifications.segments.folder)).glob("*.matches")
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    other = Store.open(store.url)
    with pytest.raises(StoreError, match=f"{path.name} is no segment of matches, or cut short: restore it"):
        other.notifications.after(1, 0)
    path.unlink()
    with pytest.raises(StoreError, match="is missing, which the store names: restore the state folder as a whole"):
        other.notifications.after(1, 0)
    other.close()


def test_without_a_folder_all_of_it_is_in_the_database(any_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(any_store.notifications.segments, "folder", None)
    monkeypatch.setattr(segments, "_ROW", 0)
    fill(any_store, 20)
    assert any_store.notifications.segments.merge()
    assert any_store.notifications.total(2) == 60
    again = Store.open(any_store.url)
    assert [one.position for one in again.notifications.after(9, 0, 4)] == [BATCH, BATCH + 1, BATCH + 2, 2 * BATCH]
    again.close()


def test_rows_that_0_1_recorded_are_read_beside_segments_until_they_are_old(any_store: Store) -> None:
    number = subscribed(any_store, owner="k").number
    with any_store.notifications._database.write() as connection:
        for at in (5, 6):
            connection.execute(
                text("INSERT INTO events VALUES (:at, :id, :time, :body)"),
                {"at": at, "id": f"evt_{at}", "time": int(NOON.timestamp() * 1e6), "body": f'{{"n":{at}}}'},
            )
            connection.execute(
                text("INSERT INTO notifications (position, subscription) VALUES (:at, :number)"),
                {"at": at, "number": number},
            )
    recorded(any_store, 1, (BATCH, number), start=NOON + timedelta(hours=1))
    kept = any_store.notifications
    assert [one.position for one in kept.after(number, 0)] == [5, 6, BATCH]
    assert [one.position for one in kept.of_owner_after("k", 0, 2)] == [5, 6]
    assert kept.since(5, BATCH, 10) == [Pair(6, number), Pair(BATCH, number)]
    assert kept.sweep(NOON + timedelta(minutes=1)) == 2
    assert [one.position for one in kept.after(number, 0)] == [BATCH]


def test_a_pair_costs_a_few_bytes_in_a_file(store: Store) -> None:
    rng = np.random.default_rng(1)
    its = [(BATCH + k, int(n)) for k in range(300) for n in rng.choice(20_000, 200, replace=False)]
    recorded(store, 1, *its)
    (one,) = names(store)
    assert one.bytes < 4.5 * len(its)
    assert (Path(str(store.notifications.segments.folder)) / f"{one.name}.matches").stat().st_size == one.bytes
