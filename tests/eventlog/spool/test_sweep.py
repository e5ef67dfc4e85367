"""Old segments go when they are old and processed; the newest never does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tamis.eventlog.spool import SpoolError, SpoolReader, SpoolWriter, sweep
from tamis.eventlog.spool.segments import segments
from tests.eventlog.spool.appended import append, filled, numbered, read_ids

LATER = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    filled(tmp_path / "spool", 10, 10, 10, 10, segment_bytes=100)
    return tmp_path / "spool"


@pytest.mark.parametrize(
    ("processed", "left"),
    [(0, [0, 10, 20, 30]), (9, [0, 10, 20, 30]), (10, [10, 20, 30]), (29, [20, 30]), (40, [30]), (10**9, [30])],
)
def test_what_is_not_processed_stays_and_so_does_the_newest(folder: Path, processed: int, left: list[int]) -> None:
    assert sweep(folder, LATER, processed) == left[0]
    assert segments(folder) == left
    assert read_ids(folder) == numbered(left[0], 40)
    assert len(list(folder.glob("*.index"))) == len(left)


def test_what_was_received_later_stays(folder: Path) -> None:
    assert sweep(folder, datetime.now(UTC) - timedelta(hours=1), 40) == 0
    assert segments(folder) == [0, 10, 20, 30]


def test_a_swept_spool_is_written_and_read_on_and_says_what_is_gone(folder: Path) -> None:
    writer = SpoolWriter(folder)
    sweep(folder, LATER, 40)
    assert append(writer, 40, 5) == 40
    writer.close()
    assert SpoolReader(folder).bounds() == (30, 45)
    with pytest.raises(SpoolError, match=r"event 7 is not in the spool .*: the oldest kept is 30"):
        read_ids(folder, 7, 45)


def test_an_empty_folder_is_swept_in_vain(tmp_path: Path) -> None:
    assert sweep(tmp_path / "nowhere", LATER, 5) == 0
