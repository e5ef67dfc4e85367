"""Files that are there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.durable import create_durably, replace_durably, replacing_durably


def test_what_is_being_written_has_no_name_yet(tmp_path: Path) -> None:
    path = tmp_path / "current.json"
    replace_durably(path, b"old")
    with replacing_durably(path) as file:
        file.write(b"ne")
        assert path.read_bytes() == b"old"
        file.write(b"w")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "current.json"
    replace_durably(path, b"old")

    def fail() -> None:
        with replacing_durably(path) as file:
            file.write(b"ne")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_of_two_who_create_a_file_the_second_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "note"
    assert create_durably(path, b"first")
    assert not create_durably(path, b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]
