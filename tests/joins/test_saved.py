"""Joins that are saved and opened: the same contents, and the same course from there on."""

from __future__ import annotations

from pathlib import Path

import pytest

import tamis
from tamis.engine import JoinChanges
from tamis.joins.join_part import read_joins
from tamis.joins.naive import NaiveJoins
from tamis.testing.join_histories import join_history


@pytest.mark.parametrize("seed", range(12))
def test_a_saved_index_goes_on_as_if_nothing_had_been(seed: int, tmp_path: Path) -> None:
    history = join_history(seed, events=40)
    oracle = NaiveJoins(history.schema, history.texts)
    index = tamis.compile(history.texts, history.schema)
    oracle.apply(history.events[:25])
    index.apply(history.events[:25])
    index.save(tmp_path / "index")
    opened = tamis.Index.open(tmp_path / "index")
    assert sorted(opened.ids().to_pylist()) == sorted(history.texts)
    assert opened.joins.sequence == index.joins.sequence
    for event in history.events[25:]:
        _, refused = oracle.apply([event])
        before, after = index.apply([event]), opened.apply([event])
        assert [str(one.message) for one in after.refused] == list(refused.values())
        assert in_order(after) == in_order(before)
    for id in history.texts:
        assert len(opened.joins.content(id)) == len(oracle.content(id))
        assert sorted(map(repr, opened.joins.content(id))) == sorted(map(repr, index.joins.content(id)))


def in_order(changes: JoinChanges) -> dict[str, list[list[str]]]:
    found = changes.by_subscription
    return {id: [sorted(map(repr, rows)) for rows in (delta.added, delta.removed)] for id, delta in found.items()}


def test_a_client_goes_on_with_the_server_that_was_opened(tmp_path: Path) -> None:
    """Sequence numbers and the numbers of rows without a key are kept, so that old notes stay old."""
    history = join_history(3, events=40)
    index = tamis.compile(history.texts, history.schema)
    clients = {id: index.joins.client(id) for id in history.texts}
    applied = index.joins.apply(history.events[:25])
    for id, client in clients.items():
        client.apply(index.joins.notes(applied, id))
    index.save(tmp_path / "index")
    joins = tamis.Index.open(tmp_path / "index").joins
    applied = joins.apply(history.events[25:])
    for id, client in clients.items():
        client.apply(joins.notes(applied, id))
        assert sorted(map(repr, client.content())) == sorted(map(repr, joins.content(id)))


def test_tables_are_saved_even_if_nobody_joins_them(tmp_path: Path) -> None:
    history = join_history(5)
    index = tamis.compile({}, history.schema)
    index.apply(history.events)
    index.save(tmp_path / "index")
    opened = tamis.Index.open(tmp_path / "index")
    opened.add(history.texts)
    index.add(history.texts)
    for id in history.texts:
        assert sorted(map(repr, opened.joins.content(id))) == sorted(map(repr, index.joins.content(id)))


@pytest.mark.parametrize("file", ["joins.arrow", "table-0.arrow"])
def test_damage_is_found_when_an_index_is_opened(file: str, tmp_path: Path) -> None:
    history = join_history(5)
    index = tamis.compile(history.texts, history.schema)
    index.apply(history.events)
    index.save(tmp_path / "index")
    assert sorted(read_joins(tmp_path / "index")["id"].to_pylist()) == sorted(history.texts)
    content = bytearray((tmp_path / "index" / file).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "index" / file).write_bytes(bytes(content))
    with pytest.raises(tamis.IndexFileError, match=f"{file} is damaged"):
        tamis.Index.open(tmp_path / "index")
    (tmp_path / "index" / file).unlink()
    with pytest.raises(tamis.IndexFileError, match=f"{file} is lost or damaged"):
        tamis.Index.open(tmp_path / "index")
