"""What is left of an error when a command ends by it: one line."""

from __future__ import annotations

import errno
from pathlib import Path

import pyarrow as pa
import pytest

from tamis.cli.base.options import require_new_folder
from tamis.cli.work.tables import table_writer
from tests.cli.house import Tamis


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_a_full_disk_is_told_with_the_file_that_did_not_fit(tmp_path: Path, suffix: str) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full")
    schema = pa.schema({"a": pa.string()})
    wanted, other = tmp_path / f"wanted{suffix}", tmp_path / "other.jsonl"
    wanted.with_name(wanted.name + ".partial").symlink_to(full)
    rows = pa.table({"a": [f"{number:0100}" for number in range(100_000)]}, schema)
    with (
        pytest.raises(OSError) as caught,
        table_writer(wanted, schema) as writer,
        table_writer(other, schema),
    ):
        writer.write(rows)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(wanted))
    assert not wanted.exists()


def test_a_folder_that_cannot_be_made_is_known_before(tmp_path: Path) -> None:
    require_new_folder(tmp_path / "new" / "folder")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        require_new_folder(tmp_path / "file" / "folder")


def test_the_version_is_told_by_an_option_too(tamis: Tamis) -> None:
    result = tamis("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("tamis ")
    assert len(result.stdout.splitlines()) == 1


def test_a_folder_that_is_neither_index_nor_parquet_is_told_apart(tamis: Tamis, house: Path) -> None:
    (house / "nothing").mkdir()
    result = tamis("match", "nothing", "events.jsonl")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: IndexFileError: nothing is no saved index: cannot read index.json in it")
    assert len(result.stderr.splitlines()) == 1


def test_a_schema_that_is_missing_or_no_yaml_is_one_line(tamis: Tamis, house: Path) -> None:
    result = tamis("match", "subscriptions.jsonl", "events.jsonl", "-s", "missing.yaml")
    assert result.stderr == (
        "error: SchemaError: missing.yaml: cannot read the schema file: No such file or directory\n"
    )
    (house / "broken.yaml").write_text("attributes: {title: string\nevent_types: {lot: {title: mandatory}}\n")
    result = tamis("match", "subscriptions.jsonl", "events.jsonl", "-s", "broken.yaml")
    assert result.stderr.startswith("error: SchemaError: broken.yaml: line 2, column 12: this is no YAML: expected ','")
    assert len(result.stderr.splitlines()) == 1
