"""Arrays come back from their file as they were, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from tamis.errors import IndexFileError
from tamis.matching.codes import files
from tamis.matching.codes.files import Source, read_arrays, write_arrays

ARRAYS: dict[str, npt.NDArray[Any]] = {
    "longs": np.arange(5),
    "bytes": np.frombuffer(b"abc", np.uint8),
    "none": np.zeros(0, np.int32),
    "table": np.arange(6, dtype=np.int32).reshape(2, 3),
    "none of four": np.zeros((0, 4), np.float64),
    "flags": np.array([True, False]),
}
ABOUT = {"columns": [["value", "naïve", "", ""]], "count": 3}


def same(arrays: dict[str, npt.NDArray[Any]], others: dict[str, npt.NDArray[Any]]) -> bool:
    return arrays.keys() == others.keys() and all(
        array.dtype == others[name].dtype and array.shape == others[name].shape and (array == others[name]).all()
        for name, array in arrays.items()
    )


def test_arrays_come_back_with_their_types_and_shapes(tmp_path: Path) -> None:
    write_arrays(tmp_path / "file", ARRAYS, ABOUT)
    arrays, about = read_arrays(tmp_path / "file")
    assert same(arrays, ARRAYS)
    assert about == ABOUT
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@given(
    st.dictionaries(st.text(max_size=5), nps.arrays(nps.integer_dtypes(endianness="="), nps.array_shapes()), max_size=4)
)
def test_any_arrays_come_back(tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, npt.NDArray[Any]]) -> None:
    path = tmp_path_factory.mktemp("any") / "file"
    write_arrays(path, arrays, {})
    assert same(read_arrays(path)[0], arrays)


def test_columns_of_a_table_are_written_as_they_look(tmp_path: Path) -> None:
    table = np.arange(12).reshape(3, 4)
    write_arrays(tmp_path / "file", {"column": table[:, 1], "turned": table.T}, {})
    arrays, _ = read_arrays(tmp_path / "file")
    assert same(arrays, {"column": table[:, 1], "turned": table.T})


def test_arrays_begin_on_boundaries(tmp_path: Path) -> None:
    write_arrays(tmp_path / "file", ARRAYS, ABOUT)
    arrays, _ = read_arrays(tmp_path / "file")
    assert all(array.ctypes.data % 64 == 0 for array in arrays.values() if array.size)


def test_what_is_written_to_an_array_stays_in_the_process(tmp_path: Path) -> None:
    write_arrays(tmp_path / "file", ARRAYS, ABOUT)
    arrays, _ = read_arrays(tmp_path / "file")
    arrays["longs"][:] = -1
    assert same(read_arrays(tmp_path / "file")[0], ARRAYS)


def test_a_file_cut_at_any_byte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_arrays(path, ARRAYS, ABOUT)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(IndexFileError, match=r"file"):
            read_arrays(path)


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_a_flipped_byte_anywhere_is_refused_or_was_padding(tmp_path: Path, flip: int) -> None:
    path = tmp_path / "file"
    write_arrays(path, ARRAYS, ABOUT)
    whole = path.read_bytes()
    harmless = 0
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= flip
        path.write_bytes(damaged)
        try:
            arrays, about = read_arrays(path)
        except IndexFileError:
            continue
        # Between arrays nothing is said, and an older format than the first is not refused.
        assert same(arrays, ARRAYS)
        assert about == ABOUT
        assert whole[position] == 0 or 8 <= position < 12
        harmless += 1
    assert harmless < len(whole) / 2


def test_a_newer_format_is_refused_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(files, "FORMAT", files.FORMAT + 1)
        write_arrays(tmp_path / "file", ARRAYS, ABOUT)
    with pytest.raises(IndexFileError, match="newer Tamis"):
        read_arrays(tmp_path / "file")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexFileError, match="nowhere"):
        read_arrays(tmp_path / "nowhere")
    with pytest.raises(IndexFileError):
        read_arrays(tmp_path)
    (tmp_path / "text").write_text("not an index, and longer than its beginning would be", encoding="utf-8")
    with pytest.raises(IndexFileError, match="no index file"):
        read_arrays(tmp_path / "text")


def test_without_checksums_only_the_header_is_verified(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_arrays(path, {"longs": np.arange(5)}, {})
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    read_arrays(path, verify=False)
    with pytest.raises(IndexFileError, match="longs"):
        read_arrays(path)


def test_a_source_is_linked_only_while_it_is_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert Source.of(path) is None
    path.write_bytes(b"one")
    source = Source.of(path)
    assert source is not None
    assert source.link(tmp_path / "link")
    assert (tmp_path / "link").read_bytes() == b"one"
    assert not source.link(tmp_path / "link")  # the name is taken
    path.unlink()
    assert not source.link(tmp_path / "late")
    path.write_bytes(b"two")  # the first file lives on under its other name, so this is another one
    assert not source.link(tmp_path / "late")
