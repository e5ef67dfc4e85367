"""Reading subscriptions from files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tamis.cli.failures import CommandError
from tamis.cli.subscriptions import read_subscriptions

WANTED = {"s1": "price < 10", "s2": "title = 'bed, of oak'"}


def _pairs(path: Path) -> dict[str, str]:
    read = read_subscriptions(path)
    assert read.refused == []
    return dict(zip(read.table["id"].to_pylist(), read.table["filter"].to_pylist(), strict=True))


def _lines() -> str:
    return "".join(json.dumps({"id": id, "filter": text}) + "\n" for id, text in WANTED.items())


def _written(folder: Path, name: str) -> Path:
    path = folder / name
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(pa.table({"id": list(WANTED), "filter": list(WANTED.values())}), path)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(_lines().encode()))
    else:
        contents = {
            "a.jsonl": _lines(),
            "b.json": json.dumps(WANTED),
            "list.json": json.dumps([{"id": id, "filter": text} for id, text in WANTED.items()]),
            "lines.json": _lines(),
            "c.yaml": json.dumps(WANTED),
            "d.csv": "id,filter\ns1,price < 10\ns2,\"title = 'bed, of oak'\"\n",
        }
        path.write_text(contents[name])
    return path


@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.jsonl.gz", "b.json", "list.json", "lines.json", "c.yaml", "d.csv", "e.parquet"]
)
def test_every_format_gives_the_same_subscriptions(tmp_path: Path, name: str) -> None:
    assert _pairs(_written(tmp_path, name)) == WANTED


def test_a_bad_line_is_set_aside_with_its_number_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        b'{"id": "a", "filter": "price < 1"}\n\nnot json\n{"id": "b"}\n{"id": 7, "filter": "price > 1"}\n\xff\n[]\n'
    )
    read = read_subscriptions(path)
    assert read.table["id"].to_pylist() == ["a", "7"]
    assert [refusal.id for refusal in read.refused] == ["", "b", "", ""]
    assert "line 3: not JSON" in read.refused[0].message
    assert "line 4" in read.refused[1].message
    assert "line 7" in read.refused[3].message


def test_a_row_without_a_filter_is_set_aside_by_id(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    pyarrow.parquet.write_table(pa.table({"id": ["a", "b"], "filter": ["price < 1", None]}), path)
    read = read_subscriptions(path)
    assert read.table["id"].to_pylist() == ["a"]
    assert [(refusal.id, refusal.message) for refusal in read.refused] == [("b", "row 2: id or filter is missing")]


def test_a_table_without_the_two_columns_is_refused_and_names_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("name,query\na,b\n")
    with pytest.raises(CommandError, match="columns id and filter; the columns are name, query"):
        read_subscriptions(path)


def test_an_unknown_suffix_is_refused_and_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"use one of .*\.jsonl.*\.parquet"):
        read_subscriptions(tmp_path / "s.txt")


def test_an_empty_file_holds_no_subscriptions(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("")
    assert _pairs(path) == {}


def test_of_several_rows_with_one_id_the_first_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("id,filter\na,price < 1\nb,price < 2\na,price < 3\n")
    read = read_subscriptions(path)
    assert read.table.to_pydict() == {"id": ["a", "b"], "filter": ["price < 1", "price < 2"]}
    assert [(refusal.id, refusal.filter) for refusal in read.refused] == [("a", "price < 3")]
