"""The index as its users see it: what goes in, what is refused, what is saved."""

from __future__ import annotations

import json
import threading
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.errors import EventError, FilterError, IndexFileError, SubscriptionError
from tamis.language import DEFAULT_LIMITS
from tests.matching.columnar.subject import SCHEMA

TEXTS = {"a": "n > 1", "b": "s = 'x' OR tags CONTAINS 'y'", "c": "n IN (1, 2)"}
EVENTS: list[dict[str, Any]] = [{"n": 2, "s": "x"}, {"tags": ["y"]}, {}]
LONG = f"s LIKE '%{'x' * 1500}%'"  # a longer pattern than is usually taken


def found(index: tamis.Index) -> list[list[str]]:
    return [sorted(ids) for ids in index.match(EVENTS).to_lists()]


@pytest.mark.parametrize(
    "form",
    [
        TEXTS,
        pa.table({"id": list(TEXTS), "filter": list(TEXTS.values())}),
        pa.record_batch({"filter": list(TEXTS.values()), "other": [1, 2, 3], "id": list(TEXTS)}),
        pa.table(
            {"id": pa.array([*TEXTS]).dictionary_encode(), "filter": pa.array([*TEXTS.values()], pa.large_string())}
        ),
        pa.concat_tables(pa.table({"id": [id], "filter": [text]}) for id, text in TEXTS.items()),
    ],
    ids=["dict", "table", "batch", "other string types", "chunks"],
)
def test_subscriptions_in_any_form(form: Any) -> None:
    index = tamis.compile(form, SCHEMA)
    assert found(index) == [["a", "b", "c"], ["b"], []]
    assert index.text("b") == TEXTS["b"]


@pytest.mark.parametrize("bad", [None, 3, b"n > 1", "\ud800", "s = '\ud800'"], ids=repr)
def test_what_is_no_text_is_reported_by_its_id_and_the_rest_compile(bad: Any) -> None:
    index = tamis.compile({"a": TEXTS["a"], "bad": bad, "c": TEXTS["c"]}, SCHEMA)
    ((id, error),) = index.errors
    assert id == "bad"
    assert isinstance(error, FilterError)
    assert found(index) == [["a", "c"], [], []]
    refused = index.add({"worse": bad, "b": TEXTS["b"]})
    assert [id for id, _ in refused] == ["worse"]
    assert found(index) == [["a", "b", "c"], ["b"], []]


@pytest.mark.parametrize("bad", [None, 3, b"a", "\ud800"], ids=repr)
def test_what_is_no_id_is_refused(bad: Any) -> None:
    with pytest.raises(SubscriptionError, match="id"):
        tamis.compile({"a": "n > 1", bad: "n > 2"}, SCHEMA)
    assert bad not in tamis.compile(TEXTS, SCHEMA)


def test_bytes_that_are_no_text_are_reported_by_their_id_or_refused_as_an_id() -> None:
    broken = pa.array([b"n > 1", b"s = '\xff'"]).view(pa.string())
    index = tamis.compile(pa.table({"id": ["a", "bad"], "filter": broken}), SCHEMA)
    ((id, error),) = index.errors
    assert (id, found(index)) == ("bad", [["a"], [], []])
    assert "this is bytes" in error.message
    assert [id for id, _ in index.add(pa.table({"id": ["b", "worse"], "filter": broken}))] == ["worse"]
    assert found(index) == [["a", "b"], [], []]
    with pytest.raises(SubscriptionError, match="is no id"):
        tamis.compile(pa.table({"id": broken, "filter": ["n > 1", "n > 2"]}), SCHEMA)


@pytest.mark.parametrize("form", ["n > 1", ["n > 1"], [("a", "n > 1")], None])
def test_what_is_neither_a_mapping_nor_a_table_is_refused(form: Any) -> None:
    with pytest.raises(SubscriptionError, match="Arrow table of 'id' and 'filter'"):
        tamis.compile(form, SCHEMA)
    with pytest.raises(SubscriptionError, match="Arrow table of 'id' and 'filter'"):
        tamis.compile(TEXTS, SCHEMA).add(form)


def test_a_table_with_a_column_twice_is_refused_by_its_name() -> None:
    with pytest.raises(SubscriptionError, match="2 columns 'id'"):
        tamis.compile(pa.table([["a"], ["b"], ["n > 1"]], names=["id", "id", "filter"]), SCHEMA)


def test_a_table_with_a_row_without_id_is_refused_by_row() -> None:
    with pytest.raises(SubscriptionError, match="row 1"):
        tamis.compile(pa.table({"id": ["a", None], "filter": ["n > 1", "n > 2"]}), SCHEMA)


@pytest.mark.parametrize("missing", ["id", "filter"])
def test_a_table_without_a_column_is_refused_by_its_name(missing: str) -> None:
    table = pa.table({"id": ["a"], "filter": ["n > 1"]}).drop_columns([missing])
    with pytest.raises(SubscriptionError, match=missing):
        tamis.compile(table, SCHEMA)


def test_a_column_of_something_else_is_refused_by_its_name() -> None:
    with pytest.raises(SubscriptionError, match="'filter'"):
        tamis.compile(pa.table({"id": ["a"], "filter": [["n > 1"]]}), SCHEMA)


def test_an_id_may_be_empty_or_long() -> None:
    ids = ["", "x" * 10_000, " ", "é"]
    index = tamis.compile(dict.fromkeys(ids, "TRUE"), SCHEMA)
    assert sorted(index.match([{}]).to_lists()[0]) == sorted(ids)
    index.remove([""])
    assert "" not in index
    index.remove("é")
    assert len(index) == 2


def test_an_event_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(EventError):
        tamis.compile(TEXTS, SCHEMA).match([{"n": "many"}])


def test_wider_limits_hold_for_adding_settling_explaining_and_reopening(tmp_path: Path) -> None:
    limits = replace(DEFAULT_LIMITS, pattern=2000)
    event = {"s": "-" + "x" * 1500}
    assert tamis.compile({"long": LONG}, SCHEMA).errors
    index = tamis.compile({"long": LONG}, SCHEMA, limits=limits)
    index.add({"other": LONG + " OR n = 1"})
    assert index.errors == []
    assert [sorted(row) for row in index.match([event, {"n": 1}]).to_lists()] == [["long", "other"], ["other"]]
    index.save(tmp_path / "index")
    opened = tamis.Index.open(tmp_path / "index")
    assert opened.explain(event, "long").matched
    opened.add({"third": LONG + " OR n = 2"})
    assert opened.errors == []
    assert opened.match([{"n": 2}]).to_lists() == [["third"]]


def test_a_saved_index_is_refused_where_any_byte_of_its_description_is_lost(tmp_path: Path) -> None:
    index = tamis.compile(TEXTS, SCHEMA)
    index.save(tmp_path / "index")
    path = tmp_path / "index" / "index.json"
    whole = path.read_bytes()
    for length in range(0, len(whole), 13):
        path.write_bytes(whole[:length])
        with pytest.raises(IndexFileError):
            tamis.Index.open(tmp_path / "index")


@pytest.mark.parametrize("flip", [0x01, 0x10])
def test_a_saved_index_with_a_flipped_byte_in_its_description_is_refused_or_the_same(tmp_path: Path, flip: int) -> None:
    index = tamis.compile(TEXTS, SCHEMA)
    index.save(tmp_path / "index")
    path = tmp_path / "index" / "index.json"
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[position] ^= flip
        path.write_bytes(damaged)
        try:
            opened = tamis.Index.open(tmp_path / "index")
        except IndexFileError:
            continue
        assert opened.schema == SCHEMA
        assert found(opened) == found(index)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 4}, "newer"),
        ({"format": "1"}, "damaged"),
        ({"matcher": "oracle"}, "newer"),
        ({"matcher": ["columnar"]}, "damaged"),
        ({"schema": {}}, "checksum"),
        ({"checksum": None}, "checksum"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    tamis.compile(TEXTS, SCHEMA).save(tmp_path / "index")
    path = tmp_path / "index" / "index.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(IndexFileError, match=said):
        tamis.Index.open(tmp_path / "index")


def test_an_index_under_limits_that_are_not_known_is_refused(tmp_path: Path) -> None:
    tamis.compile(TEXTS, SCHEMA).save(tmp_path / "index")
    path = tmp_path / "index" / "index.json"
    about = json.loads(path.read_text(encoding="utf-8")) | {"limits": {"words": 7}}
    del about["checksum"]
    path.write_text(json.dumps(about | {"checksum": zlib.crc32(json.dumps(about).encode())}), encoding="utf-8")
    with pytest.raises(IndexFileError, match="another Tamis"):
        tamis.Index.open(tmp_path / "index")


@pytest.mark.parametrize("content", ["[]", "3", '"x"', "null", "{}"])
def test_a_description_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "index.json").write_text(content, encoding="utf-8")
    with pytest.raises(IndexFileError):
        tamis.Index.open(tmp_path)


def test_an_index_is_not_saved_over_another(tmp_path: Path) -> None:
    index = tamis.compile(TEXTS, SCHEMA)
    index.save(tmp_path / "a" / "new" / "folder")
    with pytest.raises(IndexFileError, match="exists"):
        index.save(tmp_path / "a" / "new" / "folder")
    assert [path.name for path in (tmp_path / "a" / "new").iterdir()] == ["folder"]


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexFileError, match="cannot write"):
        tamis.compile(TEXTS, SCHEMA).save(tmp_path / ("x" * 300))


def test_a_save_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tamis.compile(TEXTS, SCHEMA)

    def full(folder: Path) -> None:
        (folder / "half").write_bytes(b"x")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(index.matcher, "save", full)
    with pytest.raises(IndexFileError, match="No space left"):
        index.save(tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


def test_threads_that_meet_on_a_fresh_index_all_get_its_names() -> None:
    # The ids are made into an Arrow array by the first match; here several are first.
    for _ in range(5):
        index = tamis.compile({str(k): "n > 1" for k in range(300)}, SCHEMA)
        start = threading.Barrier(4)
        results: list[Any] = []

        def match(index: tamis.Index = index, start: threading.Barrier = start, results: list[Any] = results) -> None:
            start.wait()
            results.append(len(index.match(EVENTS).to_lists()[0]))

        threads = [threading.Thread(target=match) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [300] * 4


def test_auto_says_which_matcher_it_came_to_and_is_saved_as_that(tmp_path: Path) -> None:
    index = tamis.compile(TEXTS, SCHEMA, matcher="auto")
    assert index.matcher.name == "columnar"
    assert found(index) == found(tamis.compile(TEXTS, SCHEMA))
    index.save(tmp_path / "index")
    assert tamis.Index.open(tmp_path / "index").matcher.name == "columnar"
    with pytest.raises(tamis.TamisError, match=r"no matcher 'any'; there are .*, auto$"):
        tamis.compile(TEXTS, SCHEMA, matcher="any")
