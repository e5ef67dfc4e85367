"""The checkpoint agrees with the store, also after the machine lost what was not flushed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.service.worker.checkpoint import Checkpoint, Range

PLAN = 'v1\n{"batchWatermarkMs":0}\n{"event": %d, "spool": "ab12"}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("offsets", "commits"):
        (tmp_path / "checkpoint" / name).mkdir(parents=True)
    (tmp_path / "checkpoint" / "metadata").write_text('{"id":"c0ffee"}')
    return tmp_path / "checkpoint"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_batches_go_on_under_one_name(folder: Path) -> None:
    made = Checkpoint(folder, 7)
    again = Checkpoint(folder, 99)
    assert (again.stream, again.first) == (made.stream, made.first) == (made.stream, 7)


def test_a_new_checkpoint_has_a_name_of_its_own_and_later_positions(tmp_path: Path) -> None:
    one, other = Checkpoint(tmp_path / "a", 1), Checkpoint(tmp_path / "b", 8)
    assert one.stream != other.stream
    assert other.first == 8


def test_a_stream_that_others_have_overtaken_is_not_gone_on_with(folder: Path) -> None:
    made = Checkpoint(folder, 7)
    (folder / "offsets" / "0").write_text(PLAN % 40)
    (folder / "metadata").write_text('{"id":"x"}')
    again = Checkpoint(folder, 99, last=made.stream)
    assert (again.stream, again.end(0)) == (made.stream, (PLAN % 40).splitlines()[-1])
    new = Checkpoint(folder, 99, last="another")
    assert new.stream != made.stream
    assert new.first == 99
    assert names(folder) == ["stream.json"], "where to begin is for the store to say"


def test_the_remains_of_a_stream_whose_removal_was_cut_short_are_not_gone_on_with(folder: Path) -> None:
    (folder / "offsets" / "0").write_text(PLAN % 40)
    Checkpoint(folder, 99, last="another")
    assert names(folder) == ["stream.json"]


def test_a_note_that_is_lost_is_written_anew_where_only_the_folder_knows_the_place(folder: Path) -> None:
    (folder / "offsets" / "0").write_text(PLAN % 40)
    assert Checkpoint(folder, 99).range(0) == Range(0, 40)


def test_a_plan_tells_the_range_of_events(folder: Path) -> None:
    checkpoint = Checkpoint(folder, 1)
    (folder / "offsets" / "0").write_text(PLAN % 40)
    (folder / "offsets" / "1").write_text(PLAN % 100)
    checkpoint.secure(1)
    assert checkpoint.range(0) == Range(0, 40)
    assert checkpoint.range(1) == Range(40, 100)
    assert checkpoint.ends(1) == {"0": 100}


def test_kafkas_offsets_are_summed_over_partitions(folder: Path) -> None:
    (folder / "offsets" / "0").write_text('v1\n{}\n{"lots": {"0": 3, "1": 4}}')
    assert Checkpoint(folder, 1).range(0) == Range(0, 7)
    assert Checkpoint(folder, 1, begin='{"lots": {"0": 1, "1": 2}}').range(0) == Range(3, 7)
    assert Checkpoint(folder, 1).ends(0) == {"0": 3, "1": 4}
    (folder / "offsets" / "0").write_text('v1\n{}\n{"event": {"0": 5}}')
    assert Checkpoint(folder, 1).ends(0) == {"0": 5}, "a topic may be called that"


def test_ranks_of_events_follow_one_another_by_partition_and_offset(folder: Path) -> None:
    checkpoint = Checkpoint(folder, 1)
    (folder / "offsets" / "0").write_text(PLAN % 40)
    (folder / "offsets" / "1").write_text(PLAN % 100)
    assert (checkpoint.ranks(0), checkpoint.ranks(1)) == ({0: 0}, {0: -40})
    (folder / "offsets" / "0").write_text('v1\n{}\n{"lots": {"0": 3, "10": 4, "9": 5}}')
    (folder / "offsets" / "1").write_text('v1\n{}\n{"lots": {"0": 13, "10": 4, "9": 7}}')
    # Partition 9 stands before 10: 0 to 9 are of the first, 10 and 11 of the second.
    assert checkpoint.ranks(1) == {0: -3, 9: 10 - 5, 10: 12 - 4}
    assert checkpoint.ranks(0) is None, "nobody knows where the first batch of a topic began"
    begun = Checkpoint(folder, 1, begin='{"lots": {"0": 1, "9": 2, "10": 2}}')
    assert begun.ranks(0) == {0: -1, 9: 2 - 2, 10: 5 - 2}
    (folder / "offsets" / "2").write_text('v1\n{}\n{"lots": {"0": 13, "10": 4, "9": 7, "11": 1}}')
    assert checkpoint.ranks(2) is None, "a partition that is new has begun somewhere"


def test_a_plan_that_is_not_there_cannot_be_secured(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Checkpoint(folder, 1).secure(3)


@pytest.mark.parametrize("torn", ["", "v1\n", 'v1\n{"batchWatermarkMs":0}\n{"event": 4'])
def test_files_that_a_power_cut_left_empty_or_torn_are_removed(folder: Path, torn: str) -> None:
    (folder / "offsets" / "0").write_text(PLAN % 40)
    (folder / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')
    (folder / "offsets" / "1").write_text(torn)
    (folder / "offsets" / ".1.crc").write_bytes(b"crc")
    (folder / "commits" / "1").write_text(torn)
    Checkpoint(folder, 1)
    assert names(folder / "offsets") == names(folder / "commits") == ["0"]


def test_drafts_of_a_process_that_was_killed_are_removed(folder: Path) -> None:
    (folder / "offsets" / ".0.8b1c.TID0.tmp").write_text("v1")
    (folder / ".metadata.77aa.tmp").write_text("{")
    Checkpoint(folder, 1)
    assert names(folder / "offsets") == []
    assert names(folder) == ["commits", "metadata", "offsets", "stream.json"]


def test_without_the_querys_own_note_everything_begins_anew(folder: Path) -> None:
    (folder / "metadata").write_text("")
    (folder / "offsets" / "0").write_text(PLAN % 40)
    Checkpoint(folder, 1)
    assert names(folder / "offsets") == []
    assert not (folder / "metadata").exists()


@pytest.mark.parametrize("torn", ["", '{"stream', "[]", "{}"])
def test_a_note_that_cannot_be_read_is_written_anew_and_told(folder: Path, torn: str) -> None:
    (folder / "offsets" / "0").write_text(PLAN % 40)
    (folder / "stream.json").write_text(torn)
    checkpoint = Checkpoint(folder, 99)
    assert checkpoint.first == 99
    assert checkpoint.range(0) == Range(0, 40)
    assert "stream.json cannot be read" in str(checkpoint.damage)
    assert Checkpoint(folder, 120).damage is None


def test_a_batch_planned_anew_that_the_store_has_gets_another_name(folder: Path) -> None:
    made = Checkpoint(folder, 7)
    (folder / "offsets" / "0").write_text(PLAN % 40)
    (folder / "offsets" / "1").write_text("")
    known = {made.stream: 8}
    again = Checkpoint(folder, 9, recorded=known.get)
    assert again.stream != made.stream, "under its old name and number, what is planned now would be taken for done"
    assert again.first + 1 > 8, "positions grow"
    assert again.range(0) == Range(0, 40), "what was planned before is done"
    assert "lacks batch 1, which the store has" in str(again.damage)


def test_a_plan_that_the_store_does_not_have_yet_is_no_damage(folder: Path) -> None:
    made = Checkpoint(folder, 7)
    (folder / "offsets" / "0").write_text(PLAN % 40)
    (folder / "offsets" / "1").write_text("")
    again = Checkpoint(folder, 8, recorded={made.stream: 7}.get)
    assert (again.stream, again.damage) == (made.stream, None)


def test_a_damaged_checkpoint_of_a_shared_log_is_left_for_what_the_store_says(folder: Path) -> None:
    made = Checkpoint(folder, 7)
    (folder / "offsets" / "0").write_text(PLAN % 40)
    again = Checkpoint(folder, 9, made.stream, recorded={made.stream: 8}.get)
    assert again.stream != made.stream
    assert names(folder) == ["stream.json"]
