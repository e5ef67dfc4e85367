"""An index comes back from its files as it was, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

import tamis
from tamis.errors import IndexFileError
from tamis.testing import Generated, reference_matches, workloads
from tamis.workloads import named
from tests.contract.every import AUCTIONS, answers, check_generated, every_matcher, texts

SUBSCRIPTIONS = {
    "s": "price > 1",
    'it\'s "odd" ☂': "title LIKE '%é' OR tags CONTAINS 'red'",
    "t": "quantity IN (1, 2) AND period < 'XVIII'",
}
EVENTS = [
    {"event_type": ["antiques"], "price": 2.0, "title": "café", "quantity": 2, "period": "XVI"},
    {"event_type": ["antiques"], "tags": ["red"]},
]


@every_matcher
def test_a_saved_index_opens_as_it_was(matcher: str, tmp_path: Path) -> None:
    index = tamis.compile(SUBSCRIPTIONS, AUCTIONS, matcher=matcher)
    index.save(tmp_path / "index")
    opened = tamis.Index.open(tmp_path / "index")
    assert len(opened) == len(index)
    assert opened.schema == index.schema
    assert sorted(opened.ids().to_pylist()) == sorted(SUBSCRIPTIONS)
    assert answers(opened, EVENTS) == answers(index, EVENTS) == reference_matches(SUBSCRIPTIONS, AUCTIONS, EVENTS)


@every_matcher
def test_any_index_survives_saving(matcher: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    def survives(matcher: str, workload: Generated) -> None:
        folder = tmp_path_factory.mktemp("saved")
        index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher)
        index.save(folder / "index")
        assert answers(tamis.Index.open(folder / "index"), workload.events) == answers(index, workload.events)

    check_generated(matcher, 25, workloads(), survives)


@every_matcher
def test_an_opened_index_takes_changes_and_leaves_the_files_alone(matcher: str, tmp_path: Path) -> None:
    tamis.compile(SUBSCRIPTIONS, AUCTIONS, matcher=matcher).save(tmp_path / "index")
    before = _contents(tmp_path / "index")
    opened = tamis.Index.open(tmp_path / "index")
    opened.remove(["s"])
    opened.add({"new": "price = 2"})
    changed = {key: text for key, text in SUBSCRIPTIONS.items() if key != "s"} | {"new": "price = 2"}
    assert answers(opened, EVENTS) == reference_matches(changed, AUCTIONS, EVENTS)
    assert _contents(tmp_path / "index") == before
    assert answers(tamis.Index.open(tmp_path / "index"), EVENTS) == reference_matches(SUBSCRIPTIONS, AUCTIONS, EVENTS)


@every_matcher
def test_a_changed_index_is_saved_with_its_changes(matcher: str, tmp_path: Path) -> None:
    workload = named("w1")(subscriptions=1200, events=20, seed=2)
    every = texts(workload)
    ids = list(every)
    index = tamis.compile({key: every[key] for key in ids[:700]}, workload.schema, matcher=matcher)
    index.remove(ids[100:200])
    index.add({key: every[key] for key in ids[700:]})
    index.remove(ids[900:950])
    index.save(tmp_path / "index")
    kept = {key: every[key] for key in ids[:100] + ids[200:900] + ids[950:]}
    opened = tamis.Index.open(tmp_path / "index")
    assert sorted(opened.ids().to_pylist()) == sorted(kept)
    assert answers(opened, workload.events) == reference_matches(kept, workload.schema, workload.events)


@every_matcher
def test_one_index_may_be_opened_many_times(matcher: str, tmp_path: Path) -> None:
    tamis.compile(SUBSCRIPTIONS, AUCTIONS, matcher=matcher).save(tmp_path / "index")
    first, second = tamis.Index.open(tmp_path / "index"), tamis.Index.open(tmp_path / "index")
    first.remove(["s"])
    assert answers(second, EVENTS) == reference_matches(SUBSCRIPTIONS, AUCTIONS, EVENTS)


@every_matcher
def test_files_cut_short_are_refused(matcher: str, tmp_path: Path) -> None:
    tamis.compile(SUBSCRIPTIONS, AUCTIONS, matcher=matcher).save(tmp_path / "index")
    for path in _files(tmp_path / "index"):
        whole = path.read_bytes()
        if not whole:
            continue
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(IndexFileError):
            tamis.Index.open(tmp_path / "index")
        path.write_bytes(whole)
    assert len(tamis.Index.open(tmp_path / "index")) == len(SUBSCRIPTIONS)


@every_matcher
def test_a_flipped_bit_is_refused_unless_it_stands_for_nothing(matcher: str, tmp_path: Path) -> None:
    """Arrays are padded to a boundary; a bit of the padding may flip, if the answers stay the same."""
    tamis.compile(SUBSCRIPTIONS, AUCTIONS, matcher=matcher).save(tmp_path / "index")
    expected, refused, tried = reference_matches(SUBSCRIPTIONS, AUCTIONS, EVENTS), 0, 0
    for path in _files(tmp_path / "index"):
        whole = path.read_bytes()
        for position in sorted({len(whole) * k // 12 for k in range(12)}) if whole else ():
            damaged = bytearray(whole)
            damaged[position] ^= 0x10
            path.write_bytes(damaged)
            tried += 1
            try:
                opened = tamis.Index.open(tmp_path / "index")
            except IndexFileError:
                refused += 1
            else:
                assert (answers(opened, EVENTS), opened.schema) == (expected, AUCTIONS)
        path.write_bytes(whole)
    assert refused > tried / 2


@every_matcher
def test_a_missing_file_is_refused(matcher: str, tmp_path: Path) -> None:
    tamis.compile(SUBSCRIPTIONS, AUCTIONS, matcher=matcher).save(tmp_path / "index")
    for path in _files(tmp_path / "index"):
        whole = path.read_bytes()
        path.unlink()
        with pytest.raises(IndexFileError):
            tamis.Index.open(tmp_path / "index")
        path.write_bytes(whole)


def test_what_is_no_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexFileError):
        tamis.Index.open(tmp_path / "nowhere")
    with pytest.raises(IndexFileError):
        tamis.Index.open(tmp_path)
    (tmp_path / "file").write_text("hello", encoding="utf-8")
    with pytest.raises(IndexFileError):
        tamis.Index.open(tmp_path / "file")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in _files(folder)}
