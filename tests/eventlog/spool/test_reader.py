"""Any range can be read, without reading the rest."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.eventlog import RECORDS
from tamis.eventlog.spool import SpoolError, SpoolReader, SpoolWriter
from tamis.eventlog.spool.segments import INDEX, FrameHeader, parse_header, segment_path, segments
from tests.eventlog.spool.appended import append, filled, numbered, read_ids
from tests.generated import cases

COUNT = 2000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Frames of many sizes over several segments, with several index entries each."""
    folder = tmp_path_factory.mktemp("read") / "spool"
    filled(folder, *[1, 2, 5, 12] * 100, padding=1000, segment_bytes=600_000)
    assert len(segments(folder)) >= 3
    assert segment_path(folder, 0).with_suffix(INDEX).stat().st_size >= 5 * 16
    return folder


@given(st.integers(0, COUNT), st.integers(0, COUNT), st.integers(1, 300))
@settings(max_examples=cases(60))
def test_every_range_is_read_exactly_in_batches_no_larger_than_asked(
    folder: Path, one: int, other: int, rows: int
) -> None:
    start, end = sorted((one, other))
    assert read_ids(folder, start, end, rows) == numbered(start, end)
    assert all(batch.num_rows <= rows for batch in SpoolReader(folder).read(start, end, rows))


def test_few_events_are_read_by_looking_at_few_frames(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[FrameHeader] = []

    def noted(raw: bytes, spool: bytes) -> FrameHeader:
        looked_at.append(parse_header(raw, spool))
        return looked_at[-1]

    monkeypatch.setattr("tamis.eventlog.spool.reader.parse_header", noted)
    for start in (0, 500, COUNT - 5):
        looked_at.clear()
        assert read_ids(folder, start, start + 5) == numbered(start, start + 5)
        # A stride of the index holds some 60 of these events, in some 13 frames.
        assert len(looked_at) <= 20


@pytest.mark.parametrize("index", [None, b"", b"\x01" * 7, b"\x00" * 64, b"\xff" * 64])
def test_an_index_that_is_missing_or_wrong_costs_time_only(tmp_path: Path, index: bytes | None) -> None:
    folder = tmp_path / "spool"
    filled(folder, *[10] * 20, padding=2000)
    place = segment_path(folder, 0).with_suffix(INDEX)
    if index is None:
        place.unlink()
    else:
        place.write_bytes(index)
    assert read_ids(folder, 150, 170) == numbered(150, 170)


def test_records_have_their_columns_and_the_time_they_were_received(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    filled(tmp_path / "spool", 2)
    (batch,) = SpoolReader(tmp_path / "spool").read(0, 2)
    assert batch.schema == RECORDS
    assert batch["partition"].to_pylist() == [0, 0]
    assert batch["body"].to_pylist() == ['{"n":0,"p":""}', '{"n":1,"p":""}']
    assert all(before <= time <= datetime.now(UTC) for time in batch["time"].to_pylist())


def test_recent_are_the_newest_and_no_more_than_there_are(folder: Path) -> None:
    reader = SpoolReader(folder)
    assert reader.recent(3)["id"].to_pylist() == numbered(COUNT - 3, COUNT)
    assert reader.recent(10 * COUNT).num_rows == COUNT
    assert reader.recent(0).num_rows == 0


def test_a_spool_that_nobody_has_written_is_empty(tmp_path: Path) -> None:
    reader = SpoolReader(tmp_path / "nowhere")
    assert reader.bounds() == (0, 0)
    assert reader.size() == (0, 0)
    assert reader.recent(5).num_rows == 0


def test_size_counts_events_and_the_bytes_of_their_files(folder: Path) -> None:
    events, size = SpoolReader(folder).size()
    assert events == COUNT
    assert size == sum(path.stat().st_size for path in folder.glob("*.spool"))


def test_events_beyond_either_end_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SpoolError):
        list(SpoolReader(folder).read(COUNT, COUNT + 1))
    with pytest.raises(SpoolError, match="none is kept"):
        list(SpoolReader(tmp_path).read(0, 1))


def test_a_reader_beside_the_writer_sees_a_growing_whole(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    writer = SpoolWriter(folder, segment_bytes=5000)
    done = threading.Event()

    def write() -> None:
        for start in range(0, 3000, 10):
            append(writer, start, 10)
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    rounds = 0
    while not done.is_set() or not rounds:
        _, end = SpoolReader(folder).bounds()
        assert read_ids(folder, max(0, end - 100), end) == numbered(max(0, end - 100), end)
        rounds += 1
    thread.join()
    writer.close()
    assert read_ids(folder) == numbered(0, 3000)
