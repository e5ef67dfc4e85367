"""Appends: numbered without gaps, durable when answered, together where they come together, once under a key."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path

import pyarrow as pa
import pytest

from tamis.eventlog import IdempotencyConflict, NotAppended, Receipt
from tamis.eventlog.base.event_log import Keyed, RememberedKeys
from tamis.eventlog.spool import SpoolError, SpoolReader, SpoolWriter
from tamis.eventlog.spool.segments import KEYS, segment_path, segments
from tests.eventlog.spool.appended import append, bodies, filled, ids, numbered, read_ids
from tests.eventlog.spool.failing_disk import Disk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def together(writer: SpoolWriter, *appends: tuple[int, int, str | None]) -> list[Future[Receipt]]:
    """Appends that the writer can only take as one group: it cannot begin while its lock is held."""
    with writer._wake:
        return [writer.submit(ids(start, count), bodies(start, count), key) for start, count, key in appends]


def test_events_are_numbered_from_zero_without_gaps_over_restarts(folder: Path) -> None:
    for start in (0, 10, 20):
        writer = SpoolWriter(folder)
        assert append(writer, start, 4) == start
        assert append(writer, start + 4, 6) == start + 4
        writer.close()
    assert read_ids(folder) == numbered(0, 30)


def test_what_was_answered_can_be_read_at_once_by_others(folder: Path) -> None:
    writer = SpoolWriter(folder)
    for start in range(0, 50, 5):
        append(writer, start, 5)
        assert read_ids(folder) == numbered(0, start + 5)
    writer.close()


def test_appends_that_come_together_share_one_sync(folder: Path) -> None:
    disk = Disk()
    writer = SpoolWriter(folder, files=disk.open)
    before = disk.syncs
    answers = together(writer, *((start, 1, None) for start in range(100)), (100, 1, "a"), (101, 1, None))
    assert [answer.result().first for answer in answers] == list(range(102))
    assert disk.syncs == before + 1
    writer.close()
    assert read_ids(folder) == numbered(0, 102)


def test_nothing_is_acknowledged_before_it_is_synced_nor_shown_to_readers(folder: Path) -> None:
    seen: list[tuple[bool, int]] = []
    disk = Disk()
    writer = SpoolWriter(folder, files=disk.open)
    file = writer._tail._file
    sync = file.sync

    def watched() -> None:
        seen.append((answers[0].done(), SpoolReader(folder).bounds()[1]))
        sync()

    file.sync = watched  # type: ignore[method-assign]
    with writer._wake:
        answers = [writer.submit(ids(0, 3), bodies(0, 3))]
    answers[0].result()
    assert seen == [(False, 0)]
    assert SpoolReader(folder).bounds() == (0, 3)
    writer.close()


def test_the_same_key_again_gives_the_first_receipt(folder: Path) -> None:
    writer = SpoolWriter(folder)
    append(writer, 0, 2)
    first = writer.submit(ids(2, 3), bodies(2, 3), "order 17").result()
    again = writer.submit(ids(2, 3), bodies(2, 3), "order 17").result()
    assert (first, again) == (Receipt(2, 3), Receipt(2, 3, repeated=True))
    writer.close()
    writer = SpoolWriter(folder)
    assert writer.submit(ids(2, 3), bodies(2, 3), "order 17").result() == Receipt(2, 3, repeated=True)
    writer.close()
    assert read_ids(folder) == numbered(0, 5)


def test_a_key_used_for_other_events_is_a_conflict_also_after_a_restart(folder: Path) -> None:
    writer = SpoolWriter(folder)
    append(writer, 0, 3, key="order 17")
    for _ in range(2):
        with pytest.raises(IdempotencyConflict):
            append(writer, 0, 2, key="order 17")
        writer.close()
        writer = SpoolWriter(folder)
    writer.close()
    assert read_ids(folder) == numbered(0, 3)


def test_repeats_that_come_together_are_appended_once(folder: Path) -> None:
    writer = SpoolWriter(folder)
    same = together(writer, *[(0, 3, "a")] * 5, (3, 1, None), (0, 2, "a"))
    assert [answer.result() for answer in same[:6]] == [
        Receipt(0, 3), *[Receipt(0, 3, repeated=True)] * 4, Receipt(3, 1)
    ]  # fmt: skip
    with pytest.raises(IdempotencyConflict):
        same[6].result()
    writer.close()
    assert read_ids(folder) == numbered(0, 4)


@pytest.mark.parametrize("written_down", [True, False])
def test_keys_of_full_segments_are_known_after_a_restart(folder: Path, written_down: bool) -> None:
    writer = SpoolWriter(folder, segment_bytes=100)
    for start in range(0, 10, 2):
        append(writer, start, 2, key=f"k{start}")
    writer.close()
    assert len(segments(folder)) == 5
    if not written_down:
        for first in segments(folder)[:-1]:
            segment_path(folder, first).with_suffix(KEYS).unlink()
    writer = SpoolWriter(folder)
    for start in range(0, 10, 2):
        answer = writer.submit(ids(start, 2), bodies(start, 2), f"k{start}").result()
        assert answer == Receipt(start, 2, repeated=True)
    writer.close()


def test_keys_are_forgotten_after_a_day_and_beyond_a_number() -> None:
    day = 24 * 3600 * 1_000_000
    keys = RememberedKeys(most=3)
    for number in range(5):
        keys.add(Keyed(bytes([number]) * 16, bytes(16), number, 1, number))
    assert [keys.find(bytes([number]) * 16, 5) is not None for number in range(5)] == [False, False, True, True, True]
    assert keys.find(bytes([2]) * 16, day + 2) is not None
    assert keys.find(bytes([2]) * 16, day + 3) is None
    keys.add(Keyed(b"n" * 16, bytes(16), 9, 1, day + 4))
    assert len(keys) == 2


def test_a_full_disk_fails_that_append_and_leaves_the_spool_as_it_was(folder: Path) -> None:
    disk = Disk()
    writer = SpoolWriter(folder, files=disk.open)
    append(writer, 0, 3)
    before = segment_path(folder, 0).read_bytes()
    with disk.fails("write"):
        answers = together(writer, (3, 2, None), (5, 1, "a"), (5, 1, "a"))
        for answer in answers:
            with pytest.raises(NotAppended, match="No space left"):
                answer.result()
    assert segment_path(folder, 0).read_bytes() == before
    assert read_ids(folder) == numbered(0, 3)
    assert append(writer, 3, 2) == 3
    assert writer.submit(ids(5, 1), bodies(5, 1), "a").result() == Receipt(5, 1)
    writer.close()
    assert segments(folder) == [0]
    assert read_ids(folder) == numbered(0, 6)


@pytest.mark.parametrize("operations", [("sync",), ("sync", "truncate"), ("write", "truncate")])
def test_a_file_that_cannot_be_trusted_any_more_is_written_no_further(
    folder: Path, operations: tuple[str, ...]
) -> None:
    disk = Disk()
    writer = SpoolWriter(folder, files=disk.open)
    append(writer, 0, 3)
    for _ in range(3):
        with disk.fails(*operations), pytest.raises(NotAppended):
            append(writer, 90, 2)
    assert append(writer, 3, 2) == 3
    assert segments(folder) == [0, 3]
    writer.close()
    assert read_ids(folder) == numbered(0, 5)
    writer = SpoolWriter(folder)
    assert append(writer, 5, 1) == 5
    writer.close()
    assert read_ids(folder) == numbered(0, 6)


def test_a_disk_that_fails_before_anything_was_written_does_no_harm(folder: Path) -> None:
    disk = Disk()
    writer = SpoolWriter(folder, files=disk.open)
    for operations in (("sync",), ("write", "truncate"), ("write",)):
        with disk.fails(*operations), pytest.raises(NotAppended):
            append(writer, 90, 2)
    assert append(writer, 0, 2) == 0
    writer.close()
    assert read_ids(folder) == numbered(0, 2)


def test_a_limit_of_the_operating_system_fails_appends_cleanly(folder: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(folder)], capture_output=True, text=True, check=True
    ).stdout  # fmt: skip
    assert told == "refused: File too large\n"
    whole = read_ids(folder)
    assert whole == numbered(0, len(whole))
    assert 100 < len(whole) < 200_000


# Files of this process may not grow beyond 100 kB; what is refused must leave no trace.
_LIMITED = """
import resource, sys
from tamis.eventlog import NotAppended
from tamis.eventlog.spool import SpoolWriter
from tests.eventlog.spool.appended import append, bodies, ids
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
writer = SpoolWriter(sys.argv[1])
start = 0
try:
    while True:
        start += writer.submit(ids(start, 100), bodies(start, 100)).result().count
except NotAppended as error:
    print("refused:", str(error).split(": ")[1])
append(writer, start, 1)
writer.close()
"""


def test_there_is_one_writer_at_a_time(folder: Path) -> None:
    writer = SpoolWriter(folder)
    with pytest.raises(SpoolError, match="another process writes"):
        SpoolWriter(folder)
    writer.close()
    SpoolWriter(folder).close()


def test_a_closed_writer_takes_nothing_but_finishes_what_it_has(folder: Path) -> None:
    writer = SpoolWriter(folder)
    answers = together(writer, *((start, 1, None) for start in range(20)))
    writer.close()
    assert [answer.result().first for answer in answers] == list(range(20))
    with pytest.raises(NotAppended, match="closed"):
        append(writer, 20, 1)


def test_an_append_that_was_given_up_before_its_turn_is_not_written(folder: Path) -> None:
    writer = SpoolWriter(folder)
    with writer._wake:
        given_up, kept = together(writer, (90, 1, None), (0, 1, None))
        assert given_up.cancel()
    assert kept.result() == Receipt(0, 1)
    writer.close()
    assert read_ids(folder) == numbered(0, 1)


def test_an_append_of_nothing_is_answered_and_writes_nothing(folder: Path) -> None:
    filled(folder, 3)
    before = segment_path(folder, 0).read_bytes()
    writer = SpoolWriter(folder)
    assert writer.submit(ids(0, 0), bodies(0, 0)).result() == Receipt(3, 0)
    writer.close()
    assert segment_path(folder, 0).read_bytes() == before


def test_ids_and_bodies_must_go_together(folder: Path) -> None:
    writer = SpoolWriter(folder)
    with pytest.raises(ValueError, match="2 ids for 3 bodies"):
        writer.submit(ids(0, 2), bodies(0, 3))
    with pytest.raises(ValueError, match="bodies must not be null"):
        writer.submit(ids(0, 1), pa.array([None], pa.string()))
    writer.close()


def test_chunked_and_large_strings_are_taken_too(folder: Path) -> None:
    writer = SpoolWriter(folder)
    writer.submit(pa.chunked_array([ids(0, 2), ids(2, 1)]), bodies(0, 3).cast(pa.large_string())).result()
    writer.close()
    assert read_ids(folder) == numbered(0, 3)


def test_a_writer_that_breaks_down_leaves_nobody_waiting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threading.excepthook", lambda _: None)
    writer = SpoolWriter(folder)
    monkeypatch.setattr(writer._tail, "append", lambda *_: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(NotAppended, match="has ended"):
        append(writer, 0, 1)
    writer.close()
    monkeypatch.undo()
    SpoolWriter(folder).close()
