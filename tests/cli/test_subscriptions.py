"""Reading subscriptions from files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tamis.cli.base.options import CommandError
from tamis.cli.work.subscriptions import read_subscriptions

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


def test_a_csv_row_whose_filter_has_commas_without_quotes_is_refused_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("id,filter\na,price < 1\nb,price IN (1, 2)\nc,price < 3\n")
    read = read_subscriptions(path)
    assert read.table["id"].to_pylist() == ["a", "c"]
    assert [(refusal.id, refusal.message) for refusal in read.refused] == [
        ("b", "row 3: 3 columns in place of 2; put a filter with commas in quotes")
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.csv", b"", "s.csv: the file is empty; its first line should be id,filter"),
        ("s.csv", b"id,filter\na,title = '\xe9'\n", "s.csv: the file is not UTF-8"),
        ("s.csv", b"id,filter\na,title = '\xe9', 'b'\n", "s.csv: the file is not UTF-8"),
        ("s.parquet", b"no parquet", "s.parquet: the subscriptions cannot be read: "),
        ("s.yaml", b"a: [price\nb: 3", "s.yaml: line 2, column 2: this is no YAML: expected ',' or ']'"),
        ("s.yaml", b'a: "price" > 3', "s.yaml: line 1, column 14: this is no YAML: "),
        ("s.yaml", b"a: price < 3\na: price < 4", "s.yaml: line 2, column 1: 'a' is given twice"),
        ("s.yaml", b"a: 2024-13-45", "s.yaml: this is no YAML: month must be in 1..12"),
        ("s.yaml", b"a: title = '\xe9'", "s.yaml: the file is not UTF-8"),
        ("s.json", b'{"a": "\xe9"}', "s.json: the file is not UTF-8"),
        ("s.yaml", b"[" * 100_000, "s.yaml: the YAML is nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_with_its_name(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CommandError) as caught:
        read_subscriptions(path)
    assert str(caught.value).startswith(f"{tmp_path}/{message}")
    assert "\n" not in str(caught.value)


def test_lines_that_are_no_json_say_where(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "a", "filter": "TRUE"}\r\n{"id": "b", "filter"\n\xff\n' + b"[" * 100_000)
    read = read_subscriptions(path)
    assert read.table["id"].to_pylist() == ["a"]
    assert [refusal.message for refusal in read.refused] == [
        "line 2: not JSON: Expecting ':' delimiter (column 21)",
        "line 3: not UTF-8",
        "line 4: nested too deeply",
    ]


def test_an_empty_yaml_holds_no_subscriptions(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("# none yet\n")
    assert _pairs(path) == {}


def test_a_json_file_may_begin_with_the_mark_of_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": "price < 3"}')
    assert read_subscriptions(path).table.to_pylist() == [{"id": "a", "filter": "price < 3"}]
