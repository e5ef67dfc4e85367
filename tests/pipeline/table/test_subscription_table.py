"""A table of subscriptions changes in versions, durably, and keeps those that a batch may need again."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.errors import IndexFileError, SubscriptionError
from tamis.language import bind
from tamis.matching import taking_in
from tamis.pipeline import SubscriptionTable
from tamis.pipeline.table import subscription_table
from tamis.pipeline.table.versions import Versions
from tamis.pipeline.workers.inputs import opened
from tests.pipeline.auction_day import SCHEMA

AT_ONCE = timedelta(0)
LOT = {"event_type": ["antiques"], "price": 50.0, "quantity": 1}


@pytest.fixture
def table(tmp_path: Path) -> SubscriptionTable:
    return SubscriptionTable.create(tmp_path / "table", tamis.compile({"low": "price < 100"}, SCHEMA))


def matched(table: SubscriptionTable, version: int | None = None) -> list[str]:
    """The ids that a worker would find for the lot, by the files of that version."""
    (part,) = table.snapshot(version).parts
    return sorted(opened(part).match([LOT]).to_lists()[0])


def test_a_change_makes_the_next_version_and_leaves_the_one_before(table: SubscriptionTable) -> None:
    assert table.version == 1
    change = table.change(add={"any": "price > 0", "high": "price > 100"}, remove=["low"])
    assert change.version == table.version == 2
    assert not change.errors
    assert matched(table) == ["any"]
    assert matched(table, 1) == ["low"]
    assert len(table) == 2


def test_an_id_that_is_there_gets_the_new_filter(table: SubscriptionTable) -> None:
    table.change(add={"low": "price < 10"})
    assert matched(table) == []
    table.change(add={"low": "price < 60"})
    assert matched(table) == ["low"]
    assert len(table) == 1


def test_what_cannot_be_done_is_reported_by_id_and_the_rest_is_done(table: SubscriptionTable) -> None:
    change = table.change(add={"low": "prise < 10", "any": "price > 0"}, remove=["nobody"])
    assert [id for id, _ in change.errors] == ["low", "nobody"]
    assert isinstance(change.errors[1][1], SubscriptionError)
    assert matched(table) == ["any", "low"]


def test_a_change_that_comes_to_nothing_makes_no_version(table: SubscriptionTable) -> None:
    assert table.change(add={"bad": "price >"}, remove=["nobody"]).version == 1
    assert table.change().version == 1
    assert table.version == 1


def test_of_rows_that_share_an_id_none_is_taken(table: SubscriptionTable) -> None:
    rows = pa.table({"id": ["a", "a", None, "b"], "filter": ["price > 1", "price > 2", "price > 3", "price > 4"]})
    change = table.change(add=rows)
    assert sorted(id for id, _ in change.errors) == ["", "a"]
    assert matched(table) == ["b", "low"]


def test_another_process_sees_the_change_and_may_make_the_next(table: SubscriptionTable) -> None:
    script = (
        "import sys; from tamis.pipeline import SubscriptionTable; "
        "SubscriptionTable(sys.argv[1]).change(add={'other': 'price > 1'}, remove=['low'])"
    )
    table.change(add={"mine": "price > 0"})
    subprocess.run([sys.executable, "-c", script, str(table.path)], check=True)
    assert table.version == 3
    assert matched(table) == ["mine", "other"]
    assert "low" not in table
    table.change(add={"low": "price < 100"})
    assert matched(table) == ["low", "mine", "other"]


def test_a_crash_before_the_end_of_a_change_leaves_the_version_before(
    table: SubscriptionTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Versions, "publish", crash)
        with pytest.raises(KeyboardInterrupt):
            table.change(add={"lost": "price > 0"})
    for reader in (table, SubscriptionTable(table.path)):
        assert reader.version == 1
        assert matched(reader) == ["low"]
    assert table.change(add={"next": "price > 0"}).version == 2
    assert matched(table) == ["low", "next"]
    assert not list(table.path.rglob("*.new"))


def test_a_killed_writer_leaves_a_whole_version_and_no_lock(table: SubscriptionTable) -> None:
    script = (
        "import sys; from tamis.pipeline import SubscriptionTable; table = SubscriptionTable(sys.argv[1])\n"
        "for number in range(10**6):\n"
        "    change = table.change(add={f's{number}': 'price > 0'})\n"
        "    print(change.version, flush=True)"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, str(table.path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(20)][-1]
    writer.kill()
    writer.communicate()
    version = table.version
    assert version >= acknowledged
    assert matched(table) == sorted(["low", *(f"s{number}" for number in range(version - 1))])
    assert table.change(remove=["s0"]).version == version + 1


def test_a_replayed_batch_gets_the_version_it_had_first(table: SubscriptionTable) -> None:
    assert table.note("query", 0) == 1
    table.change(add={"any": "price > 0"})
    assert table.note("query", 0) == 1
    assert SubscriptionTable(table.path).note("query", 0) == 1
    assert table.note("another", 0) == 2
    assert table.note("query", 1) == 2


def test_what_is_changed_and_noted_together_is_there_at_once_or_not_at_all(
    table: SubscriptionTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with table.together():
        table.change(add={"any": "price > 0"})
        table.change(remove=["low"])
        table.annotate({"revision": 5})
        assert len(table) == 1
        assert table.note("query", 7) == 3
        assert SubscriptionTable(table.path).version == 1
    current = json.loads((table.path / "current.json").read_text())
    assert (current["version"], current["note"], current["batches"]) == (3, {"revision": 5}, {"query": {"7": 3}})

    def change_and_crash() -> None:
        with table.together():
            table.change(add={"lost": "price > 0"})
            table.note("query", 8)
            monkeypatch.setattr(Versions, "publish", crash)

    publish = Versions.publish
    with pytest.raises(KeyboardInterrupt):
        change_and_crash()
    monkeypatch.setattr(Versions, "publish", publish)
    assert json.loads((table.path / "current.json").read_text()) == current
    assert (len(table), table.note("query", 7)) == (1, 3)
    assert matched(table) == ["any"]


def test_a_filter_is_read_once_on_its_way_into_a_table(
    table: SubscriptionTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def counted(texts: Any, *more: Any) -> Any:
        read.append(len(texts))
        return bind(texts, *more)

    monkeypatch.setattr(taking_in, "bind", counted)
    table.change(add={"any": "price > 0", "bad": "price >"})
    assert read == [2]


def test_notes_that_stand_in_files_of_their_own_still_hold(table: SubscriptionTable) -> None:
    current = json.loads((table.path / "current.json").read_text())
    del current["batches"], current["note"]
    (table.path / "current.json").write_text(json.dumps(current | {"format": 1}))
    (table.path / "notes" / "query").mkdir(parents=True)
    (table.path / "notes" / "query" / "7").write_text("1")
    table.change(add={"any": "price > 0"})
    assert table.streams() == ["query"]
    assert [table.note("query", batch) for batch in (7, 8)] == [1, 2]


def test_a_version_is_kept_while_a_batch_may_need_it_and_swept_after(table: SubscriptionTable) -> None:
    table.note("query", 7)
    table.change(add={"any": "price > 0"})
    table.fold()
    table.sweep(AT_ONCE)
    assert matched(table, table.note("query", 7)) == ["low"]
    table.note("query", 8)
    table.sweep(AT_ONCE)
    with pytest.raises(IndexFileError, match="no version 1 any more"):
        table.snapshot(1)
    assert matched(table) == ["any", "low"]
    assert [path.name for path in (table.path / "bases").iterdir()] == ["2"]
    assert not list((table.path / "changes").iterdir())


def test_a_stream_that_is_forgotten_holds_on_to_nothing(table: SubscriptionTable) -> None:
    table.note("query", 7)
    assert table.streams() == ["query"]
    table.forget("query")
    table.change(add={"any": "price > 0"})
    table.fold()
    table.sweep(AT_ONCE)
    assert table.streams() == []
    assert [path.name for path in (table.path / "bases").iterdir()] == ["2"]


def test_what_was_overtaken_a_moment_ago_is_not_swept(table: SubscriptionTable) -> None:
    table.change(add={"any": "price > 0"})
    table.fold()
    table.sweep()
    assert matched(table, 1) == ["low"]


def test_many_changes_are_folded_into_a_base(table: SubscriptionTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription_table, "FOLD_VERSIONS", 3)
    for number in range(10):
        table.change(add={f"s{number}": "price > 0"}, remove=[f"s{number - 1}"] if number else [])
    assert table.version == 11
    (part,) = table.snapshot().parts
    assert len(part.changes) <= 3
    assert matched(table) == ["low", "s9"]
    assert matched(table, 5) == ["low", "s3"]


def test_a_worker_brings_an_open_version_up_to_date_and_can_go_back(table: SubscriptionTable) -> None:
    for number in range(3):
        table.change(add={f"s{number}": "price > 0"})
    assert [matched(table, version) for version in (1, 2, 4, 3, 1, 4)] == [
        ["low"],
        ["low", "s0"],
        ["low", "s0", "s1", "s2"],
        ["low", "s0", "s1"],
        ["low"],
        ["low", "s0", "s1", "s2"],
    ]


def test_a_version_can_be_had_as_an_index_of_ones_own(table: SubscriptionTable) -> None:
    table.change(add={"any": "price > 0"})
    mine = table.index()
    mine.remove(["low"])
    assert mine.ids().to_pylist() == ["any"]
    assert table.index(1).ids().to_pylist() == ["low"]
    assert len(table) == 2


def test_a_folder_that_holds_no_table_or_a_newer_one_is_refused(table: SubscriptionTable, tmp_path: Path) -> None:
    assert SubscriptionTable.is_table(table.path)
    assert not SubscriptionTable.is_table(tmp_path)
    with pytest.raises(IndexFileError, match="holds no table of subscriptions"):
        SubscriptionTable(tmp_path / "nothing")
    with pytest.raises(IndexFileError, match="already"):
        SubscriptionTable.create(table.path, tamis.compile({}, SCHEMA))
    current = table.path / "current.json"
    current.write_text(json.dumps({**json.loads(current.read_text()), "format": 99}))
    with pytest.raises(IndexFileError, match="newer Tamis"):
        SubscriptionTable(table.path)
    current.write_text("{")
    with pytest.raises(IndexFileError, match="damaged"):
        SubscriptionTable(table.path)


def test_a_lost_change_file_is_named(table: SubscriptionTable) -> None:
    table.change(add={"any": "price > 0"})
    (table.path / "changes" / "2.arrow").write_bytes(b"ARROW1")
    (part,) = table.snapshot().parts
    with pytest.raises(IndexFileError, match=r"2\.arrow is lost or damaged"):
        opened(part)
