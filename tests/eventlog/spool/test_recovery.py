"""What a crash leaves behind is cut off; what was durable and is no longer whole is reported with its place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.eventlog.spool import SpoolDamaged, SpoolError, SpoolReader, SpoolWriter
from tamis.eventlog.spool.segments import (
    HEADER_SIZE,
    SEGMENT_HEADER,
    FrameHeader,
    parse_header,
    read_segment_header,
    segment_path,
)
from tamis.eventlog.spool.side_files import MARK
from tests.eventlog.spool.appended import append, filled, numbered, read_ids
from tests.generated import cases


def frames(segment: Path) -> list[tuple[int, FrameHeader]]:
    """Where the frames of a whole segment lie."""
    raw = segment.read_bytes()
    spool = read_segment_header(segment).spool
    places, position = [], SEGMENT_HEADER
    while position < len(raw):
        header = parse_header(raw[position:], spool)
        places.append((position, header))
        position += header.size
    return places


def older_mark(folder: Path, *counts: int) -> bytes:
    """The mark as it was before the last of these frames: what is there when a process is killed before it moved."""
    writer = SpoolWriter(folder)
    start = 0
    for count in counts[:-1]:
        append(writer, start, count)
        start += count
    mark = (folder / MARK).read_bytes()
    append(writer, start, counts[-1])
    writer.close()
    return mark


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spool of three frames, of which the last was not yet acknowledged."""
    folder = tmp_path_factory.mktemp("killed") / "spool"
    mark = older_mark(folder, 5, 3, 4)
    (folder / MARK).write_bytes(mark)
    return folder


def copied(killed: Path, folder: Path) -> tuple[Path, Path]:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(killed, folder)
    return folder, segment_path(folder, 0)


def test_a_last_frame_cut_anywhere_is_taken_back_and_the_spool_goes_on(killed: Path, tmp_path: Path) -> None:
    position, last = frames(segment_path(killed, 0))[-1]
    for size in range(last.size):
        folder, segment = copied(killed, tmp_path / "spool")
        with segment.open("r+b") as file:
            file.truncate(position + size)
        writer = SpoolWriter(folder)
        assert append(writer, 8, 2) == 8
        writer.close()
        assert read_ids(folder) == numbered(0, 10)


@settings(max_examples=cases(100))
@given(data=st.data())
def test_a_last_frame_with_any_bytes_wrong_is_taken_back(
    killed: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    position, last = frames(segment_path(killed, 0))[-1]
    folder, segment = copied(killed, tmp_path_factory.getbasetemp() / "torn")
    raw = bytearray(segment.read_bytes())
    # A page that never reached the disk reads as zeros.
    start = data.draw(st.integers(position, position + last.size - 1))
    end = data.draw(st.integers(start + 1, position + last.size))
    zeros = bytes(end - start)
    if raw[start:end] == zeros:
        raw[start] ^= 255
    else:
        raw[start:end] = zeros
    segment.write_bytes(raw)
    writer = SpoolWriter(folder)
    assert append(writer, 8, 2) == 8
    writer.close()
    assert read_ids(folder) == numbered(0, 10)


def test_a_whole_frame_that_was_not_acknowledged_is_kept(killed: Path, tmp_path: Path) -> None:
    folder, _ = copied(killed, tmp_path / "spool")
    assert SpoolReader(folder).bounds() == (0, 8)
    SpoolWriter(folder).close()
    assert read_ids(folder) == numbered(0, 12)


def test_a_bit_that_flipped_is_reported_with_segment_and_place(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    filled(folder, 5, 3, 4)
    segment = segment_path(folder, 0)
    whole = segment.read_bytes()
    position, _ = frames(segment)[1]
    for place in (position + 20, position + HEADER_SIZE + 30):
        raw = bytearray(whole)
        raw[place] ^= 4
        segment.write_bytes(raw)
        with pytest.raises(SpoolDamaged) as damage:
            read_ids(folder)
        assert (damage.value.file, damage.value.position) == (segment.name, position)
        assert segment.name in str(damage.value)
        assert "event 5" in str(damage.value)
        assert read_ids(folder, 0, 5) == numbered(0, 5)


def test_a_header_damaged_among_acknowledged_ones_keeps_a_writer_from_cutting_them_off(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    filled(folder, 5, 3, 4)
    segment = segment_path(folder, 0)
    position, _ = frames(segment)[1]
    raw = bytearray(segment.read_bytes())
    raw[position + 20] ^= 4
    segment.write_bytes(raw)
    with pytest.raises(SpoolDamaged, match=f"byte {position}: event 5"):
        SpoolWriter(folder)
    assert segment.read_bytes() == bytes(raw)


@pytest.mark.parametrize("in_payload", [False, True])
def test_damage_is_told_from_a_torn_tail_also_where_the_mark_was_lost(tmp_path: Path, in_payload: bool) -> None:
    folder = tmp_path / "spool"
    filled(folder, 5, 3, 4)
    (folder / MARK).unlink()
    segment = segment_path(folder, 0)
    position, _ = frames(segment)[1]
    raw = bytearray(segment.read_bytes())
    raw[position + (HEADER_SIZE + 30 if in_payload else 20)] ^= 4
    segment.write_bytes(raw)
    # The third frame was written when the second was durable, so the second cannot be a torn one.
    with pytest.raises(SpoolDamaged, match=f"byte {position}: event 5"):
        SpoolWriter(folder)


def test_frames_of_one_write_may_reach_the_disk_in_any_order(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    filled(folder, 5)
    segment = segment_path(folder, 0)
    mark = (folder / MARK).read_bytes()
    position = segment.stat().st_size
    writer = SpoolWriter(folder)
    with writer._wake:
        # Under the lock the writer cannot take the first before the second is there: one group of two frames.
        answers = [writer.submit(pa.array([f"x{n}"]), pa.array(["{}"]), key=str(n)) for n in range(2)]
    assert [answer.result().first for answer in answers] == [5, 6]
    writer.close()
    places = frames(segment)
    assert [header.group for _, header in places[1:]] == [position, position]
    raw = bytearray(segment.read_bytes())
    raw[position + HEADER_SIZE + 10] ^= 1
    segment.write_bytes(raw)
    (folder / MARK).write_bytes(mark)
    writer = SpoolWriter(folder)
    assert append(writer, 5, 1) == 5
    writer.close()
    assert read_ids(folder) == numbered(0, 6)


def test_an_event_cannot_pose_as_a_frame_behind_a_torn_one(killed: Path, tmp_path: Path) -> None:
    folder, segment = copied(killed, tmp_path / "spool")
    position, _ = frames(segment)[-1]
    forged = FrameHeader(99, 1, 0, position + 1, bytes(16), bytes(16), 0, 0).to_bytes(b"a guess at an id")
    with segment.open("r+b") as file:
        file.truncate(position)
        file.seek(position)
        file.write(b"torn" + forged)
    SpoolWriter(folder).close()
    assert read_ids(folder) == numbered(0, 8)


def test_a_segment_that_lost_durable_bytes_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    filled(folder, 5, 3)
    segment = segment_path(folder, 0)
    with segment.open("r+b") as file:
        file.truncate(segment.stat().st_size - 1)
    with pytest.raises(SpoolDamaged, match="were durable"):
        SpoolWriter(folder)
    with pytest.raises(SpoolDamaged, match="event 5: the frame's events are cut off"):
        read_ids(folder)


def test_a_missing_segment_is_damage_and_not_an_empty_spool(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    filled(folder, 5, 5, 5, segment_bytes=100)
    segment_path(folder, 10).unlink()
    with pytest.raises(SpoolDamaged, match="newest segment is missing"):
        SpoolWriter(folder)
    for first in (0, 5):
        segment_path(folder, first).unlink()
    with pytest.raises(SpoolDamaged, match="the segment is missing"):
        SpoolWriter(folder)


def test_a_segment_missing_in_the_middle_is_found_by_whoever_reads_over_it(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    filled(folder, 5, 5, 5, segment_bytes=100)
    segment_path(folder, 5).unlink()
    with pytest.raises(SpoolDamaged, match=r"00000000000000000000.spool, byte \d+: event 5"):
        read_ids(folder)


def test_a_segment_header_that_changed_is_damage(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    filled(folder, 5)
    segment = segment_path(folder, 0)
    raw = bytearray(segment.read_bytes())
    raw[10] ^= 1
    segment.write_bytes(raw)
    with pytest.raises(SpoolDamaged, match="header"):
        SpoolWriter(folder)
    with pytest.raises(SpoolDamaged, match="header"):
        read_ids(folder)


def test_a_segment_that_was_never_finished_is_no_segment(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    filled(folder, 5)
    (folder / "00000000000000000005.new").write_bytes(b"TAMIS")
    SpoolWriter(folder).close()
    assert read_ids(folder) == numbered(0, 5)
    assert not (folder / "00000000000000000005.new").exists()


def test_a_damaged_mark_is_made_anew_by_a_writer(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    filled(folder, 5)
    (folder / MARK).write_bytes(b"what is this")
    with pytest.raises(SpoolError, match="mark"):
        SpoolReader(folder).bounds()
    SpoolWriter(folder).close()
    assert read_ids(folder) == numbered(0, 5)
