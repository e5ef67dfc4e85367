"""Arrow bodies that are small and stand for much: refused before anything is made of them."""

from __future__ import annotations

import io
import struct
from typing import Any

import pyarrow as pa
import pytest

from tamis.service.intake.arrow_rows import read_arrow, unpacked_bytes
from tamis.service.intake.problems import Problem
from tests.service.http.server import Server

ROOM = 1 << 20


def written(columns: dict[str, Any], **options: Any) -> bytes:
    batch, sink = pa.record_batch(columns), io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def lists_of_nothing(length: int) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, length], pa.int32()), pa.nulls(length))


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"title": pa.array(["\0" * (8 * ROOM)])}, {"compression": "zstd"}),
        ({"title": pa.array(["\0" * (8 * ROOM)])}, {"compression": "lz4"}),
        ({"tags": lists_of_nothing(2**31 - 1)}, {}),
        ({"tags": pa.FixedSizeListArray.from_arrays(pa.nulls(2**31 - 1), 2**31 - 1)}, {}),
        ({"title": pa.DictionaryArray.from_arrays(pa.array([0] * 2_000, pa.int32()), pa.array(["x" * 1_000]))}, {}),
        ({f"a{number}": pa.nulls(500) for number in range(1_000)}, {}),
    ],
)
def test_what_unpacks_to_too_much_is_413_before_it_is_unpacked(columns: dict[str, Any], options: Any) -> None:
    before = pa.total_allocated_bytes()
    with pytest.raises(Problem) as refused:
        read_arrow(written(columns, **options), 20_000, ROOM)
    assert refused.value.status == 413
    assert pa.total_allocated_bytes() - before < ROOM


def within_a_struct(name: str, column: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([column], [name])


def in_a_list(column: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), column)


LONG, FLAGS = "n" * 1_000, pa.array([True] * 2_000)


@pytest.mark.parametrize(
    "columns",
    [
        {LONG: FLAGS},
        {LONG: FLAGS.dictionary_encode()},
        {"a": within_a_struct(LONG, FLAGS)},
        {"a": within_a_struct(LONG, pa.nulls(2_000))},  # a member is said even where it is null
        {"a": within_a_struct("b", within_a_struct(LONG, FLAGS))},
        {"a": in_a_list(within_a_struct(LONG, FLAGS))},
        {"a": in_a_list(within_a_struct("b", in_a_list(within_a_struct(LONG, FLAGS))))},
        {"\0" * 200: FLAGS},  # six bytes each, as JSON
    ],
)
def test_a_name_weighs_as_often_as_it_will_be_said(columns: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr("tamis.service.intake.arrow_rows.row_text", made.append)
    with pytest.raises(Problem) as refused:
        read_arrow(written(columns), 20_000, ROOM)
    assert (refused.value.status, made) == (413, [])


def test_the_name_of_what_is_absent_weighs_nothing() -> None:
    sparse = pa.array([True] + [None] * 1_999)
    assert read_arrow(written({LONG: sparse}), 20_000, ROOM).to_pylist()[1:] == ["{}"] * 1_999


@pytest.mark.parametrize("inside", [False, True])
def test_a_name_that_no_attribute_can_have_is_refused_before_any_row_is_made(
    inside: bool, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    monkeypatch.setattr("tamis.service.intake.arrow_rows.row_text", made.append)
    flags, name = pa.array([True] * 1_000), "n" * 3_000_000
    body = written({"a": within_a_struct(name, flags)} if inside else {name: flags})
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    answer = server.client.post("/v1/events", content=body, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:tamis:problem:too-large")
    assert len(answer.content) < 1_000
    assert made == []
    assert server.publish({"event_type": "antiques", "price": 3}).status_code == 202


def test_rows_read_in_several_pieces_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.service.intake.arrow_rows._VALUES_AT_ONCE", 7)
    rows = read_arrow(written({"n": range(20), "m": range(20)}), 20, ROOM).to_pylist()
    assert rows == [f'{{"n":{number},"m":{number}}}' for number in range(20)]


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_what_is_compressed_or_in_a_dictionary_is_read_all_the_same(compression: str | None) -> None:
    titles = pa.array(["oak desk", None, "oak desk"]).dictionary_encode()
    parts = pa.array([{"n": 1, "of": ["a", "b"]}] * 3)
    rows = read_arrow(written({"title": titles, "parts": parts}, compression=compression), 10, ROOM).to_pylist()
    assert rows[0] == '{"title":"oak desk","parts":{"n":1,"of":["a","b"]}}'
    assert rows[1] == '{"parts":{"n":1,"of":["a","b"]}}'


@pytest.mark.parametrize("kind", [pa.string_view(), pa.list_view(pa.int64()), pa.map_(pa.string(), pa.int64())])
def test_types_whose_values_may_overlap_are_not_taken(kind: pa.DataType) -> None:
    with pytest.raises(Problem, match="cast it"):
        read_arrow(written({"a": pa.array([None], kind)}), 10, ROOM)


@pytest.mark.parametrize("claimed", [-2, -(1 << 40), 1 << 40])
def test_a_buffer_that_lies_about_its_length_is_refused(claimed: int) -> None:
    body = written({"title": pa.array(["\0" * 100_000])}, compression="zstd")
    before, _, after = body.rpartition(struct.pack("<q", 100_000))
    with pytest.raises(Problem) as refused:
        read_arrow(before + struct.pack("<q", claimed) + after, 10, ROOM)
    assert refused.value.status in (400, 413)


def test_streams_of_arrow_before_its_first_release_are_refused() -> None:
    body = written({"price": [1.0]}, metadata_version=pa.ipc.MetadataVersion.V4)
    with pytest.raises(Problem, match=r"before 1\.0"):
        read_arrow(body, 10, ROOM)


def test_the_length_of_what_is_not_compressed_is_what_is_there() -> None:
    assert unpacked_bytes(written({"title": pa.array(["x" * 100_000])})) == 100_000 + 8


def test_a_bomb_is_an_answer_like_any_other(server: Server) -> None:
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    answer = server.client.post("/v1/events", content=written({"tags": lists_of_nothing(2**31 - 1)}), headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:tamis:problem:too-large")
