"""One level: the same answers however they are computed, in whatever pieces, while subscriptions are struck out."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tamis.matching.codes import level as module
from tamis.matching.codes.files import read_arrays
from tamis.matching.columnar import level as columnar
from tamis.matching.columnar.level import ColumnarLevel
from tamis.matching.columnar.probing_kernels import PROBES, match_events
from tamis.schema import Schema
from tamis.testing import Generated, crowds, reference_matches
from tests.generated import cases
from tests.matching.columnar.subject import SCHEMA, found, level_of, matches_of
from tests.matching.columnar.test_bucket_pool import MIXED

RNG = random.Random(5)
EVENTS: list[dict[str, Any]] = [
    {
        "n": RNG.randrange(60), "m": RNG.randrange(3000), "f": RNG.randrange(3000) + 0.5, "s": f"v{RNG.randrange(12)}",
        "t": RNG.choice("awz"), "flag": RNG.random() < 0.7, "tags": [f"v{RNG.randrange(40)}" for _ in range(3)],
        "sizes": [RNG.randrange(3000)],
    }
    for _ in range(60)
]  # fmt: skip


@settings(max_examples=cases(25))
@given(workload=crowds())
def test_lanes_are_picked_one_by_one_as_they_are_compressed(workload: Generated) -> None:
    level = level_of(workload.subscriptions, workload.schema)
    answers = []
    for compress in (True, False):
        level._compress = compress
        answers.append(matches_of(level, workload.events, workload.schema).to_lists())
    assert answers[0] == answers[1]


@pytest.mark.parametrize("removed", [False, True])
def test_a_large_level_answers_alike_with_and_without_compressing(removed: bool) -> None:
    level = level_of(MIXED)
    if removed:
        level.remove_all(np.arange(0, 3000, 5))
    answers = []
    for compress in (True, False):
        level._compress = compress
        answers.append(matches_of(level, EVENTS).to_lists())
    assert answers[0] == answers[1]
    gone = {id for id in MIXED if removed and level.find(id) is None}
    kept = {id: text for id, text in MIXED.items() if id not in gone}
    assert [sorted(row) for row in answers[0]] == reference_matches(kept, SCHEMA, EVENTS)


@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_more_matches_than_a_buffer_holds_come_in_several_parts(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = matches_of(level_of(MIXED), EVENTS)
    monkeypatch.setattr(module, "DIRECT", 16)
    monkeypatch.setattr(module, "CHUNK", chunk)
    level = level_of(MIXED)
    # The first batch is copied out of one buffer, the second is written where it stays.
    for _ in range(3):
        parts = level.match(SCHEMA.to_arrow(EVENTS), whole.work)
        assert len(parts) > 1 or level._expected * len(EVENTS) > 3 * 16
        matches = matches_of(level, EVENTS)
        assert matches.to_lists() == whole.to_lists()
        assert matches.counts.tolist() == whole.counts.tolist()


def test_wide_levels_take_fewer_events_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    level = level_of(MIXED)
    expected = found(level, EVENTS)
    monkeypatch.setattr(module, "MOST_CODES", 3 * level.encoder.singles)
    assert found(level, EVENTS) == expected
    monkeypatch.setattr(module, "MOST_CODES", 1)
    assert found(level, EVENTS) == expected


def test_an_event_with_thousands_of_values() -> None:
    level = level_of({f"v{k}": f"tags = 'v{k}'" for k in range(10_000)})
    values = [f"v{k}" for k in range(0, 20_000, 2)]
    RNG.shuffle(values)
    matches = matches_of(level, [{"tags": ["v1"]}, {"tags": values + values[:1000]}, {}])
    assert [len(row) for row in matches.to_lists()] == [1, 5000, 0]
    assert PROBES < matches.work.probes <= 5002  # the values nobody asks for are one code


def test_a_batch_of_which_every_event_fills_a_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DIRECT", 1)
    level = level_of(["TRUE"] * 200)
    for _ in range(2):
        matches = matches_of(level, [{}] * 50)
        assert len(matches) == 200 * 50
        assert matches.counts.tolist() == [200] * 50


def test_one_event_with_many_matches_does_not_make_room_for_as_many_from_each_of_the_next() -> None:
    level = level_of(["TRUE"] * 10)
    level._expected = 1e12  # as if one event had matched very much
    assert len(matches_of(level, [{}] * 5)) == 50
    assert level._expected == 10


def test_what_needs_a_test_may_stand_among_much_that_does_not() -> None:
    # One conjunction with a test shares a segment with hundreds without; all of them match at once.
    names = [f"a{k:03}" for k in range(200)]
    schema = Schema.from_dict(
        {"attributes": dict.fromkeys(names, "integer"), "event_types": {"e": dict.fromkeys(names, "optional")}}
    )
    texts = {f"{k}-{c}": f"a{k:03} >= {-c} AND a{k + 1:03} >= {-c}" for k in range(199) for c in range(2)}
    texts["tested"] = "a000 >= 0 AND a001 >= 0 AND a001 != 7"
    level = level_of(texts, schema)
    event = dict.fromkeys(names, 1)
    guard = np.full(len(level._scratch.loose) + 1000, -7, np.int32)
    level._scratch.loose = guard[: len(level._scratch.loose)]
    assert len(matches_of(level, [event], schema)) == len(texts)
    assert (guard[len(level._scratch.loose) :] == -7).all()


def test_a_removal_during_a_match_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    level = level_of(MIXED)
    expected = found(level, EVENTS)
    matched = sorted({id for row in expected for id in row})
    calls: list[int] = []

    def meanwhile(*arguments: Any) -> Any:
        if not calls:
            for id in matched[::2]:
                number = level.find(id)
                assert number is not None
                level.remove(number)
        calls.append(1)
        return match_events(*arguments)

    monkeypatch.setattr(columnar, "match_events", meanwhile)
    kept = set(matched[1::2])
    assert found(level, EVENTS) == [[id for id in row if id in kept] for row in expected]


def test_what_was_decided_for_one_event_is_forgotten_at_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    # Stamps run out after a few batches and begin anew.
    texts = {"not": "n != 3", "in": "n IN (1, 4, 9)", "or": "n = 3 OR m = 3", "tag": "tags = 'x' AND tags = 'y'"}
    level = level_of(texts)
    monkeypatch.setattr(module, "LAST_STAMP", 40)
    events = [{"n": k % 10, "m": k % 4, "tags": ["x", "y"][: k % 3]} for k in range(13)]
    expected = reference_matches(texts, SCHEMA, events)
    for _ in range(12):
        assert found(level, events) == expected


def test_threads_have_scratch_of_their_own() -> None:
    level = level_of(MIXED)
    expected = found(level, EVENTS)
    batch = SCHEMA.to_arrow(EVENTS)
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(lambda _: found(level, batch), range(12)):
            assert answer == expected


def test_a_thousand_columns() -> None:
    names = [f"a{k:04}" for k in range(1000)]
    schema = Schema.from_dict(
        {"attributes": dict.fromkeys(names, "integer"), "event_types": {"e": dict.fromkeys(names, "optional")}}
    )
    # Two shapes only: the language is not what is tested here.
    texts = {f"{k}": f"{name} = {k}" for k, name in enumerate(names)}
    level = level_of(texts, schema)
    assert level.encoder.singles == 1000
    events = [{name: k for k, name in enumerate(names)}, {"a0999": 999}, {"a0999": 998}, {}]
    assert found(level, events, schema) == [sorted(texts), ["999"], [], []]


@pytest.mark.parametrize("texts", [{}, {"a": "FALSE"}, {"a": "TRUE"}, {"a": "n > 2 AND n < 2", "b": "FALSE"}])
def test_levels_with_nothing_to_look_at(texts: dict[str, str], tmp_path: Path) -> None:
    level = level_of(texts)
    events: list[dict[str, Any]] = [{}, {"n": 1}]
    expected = reference_matches(texts, SCHEMA, events)
    assert found(level, events) == expected
    assert found(level, []) == []
    level.save(tmp_path / "level")
    opened = ColumnarLevel.open(tmp_path / "level", SCHEMA)
    assert found(opened, events) == expected
    assert len(opened) == len(texts)


def test_a_level_comes_back_from_its_file_and_is_linked_when_saved_again(tmp_path: Path) -> None:
    level = level_of(MIXED)
    level.save(tmp_path / "first")
    opened = ColumnarLevel.open(tmp_path / "first", SCHEMA)
    assert found(opened, EVENTS) == found(level, EVENTS)
    assert [opened.texts[n] for n in range(0, 3000, 500)] == [level.texts[n] for n in range(0, 3000, 500)]
    opened.save(tmp_path / "second")
    assert (tmp_path / "second").stat().st_ino == (tmp_path / "first").stat().st_ino


def test_a_level_whose_file_gave_way_to_another_is_written_anew(tmp_path: Path) -> None:
    level_of({"mine": "n = 1"}).save(tmp_path / "level")
    opened = ColumnarLevel.open(tmp_path / "level", SCHEMA)
    level_of({"other": "n = 2"}).save(tmp_path / "other")
    (tmp_path / "other").replace(tmp_path / "level")
    opened.save(tmp_path / "again")
    assert found(ColumnarLevel.open(tmp_path / "again", SCHEMA), [{"n": 1}]) == [["mine"]]
    (tmp_path / "level").unlink()
    opened.save(tmp_path / "once more")
    assert found(ColumnarLevel.open(tmp_path / "once more", SCHEMA), [{"n": 1}]) == [["mine"]]


def test_striking_out_changes_no_file(tmp_path: Path) -> None:
    level_of(MIXED).save(tmp_path / "level")
    before = (tmp_path / "level").read_bytes()
    opened = ColumnarLevel.open(tmp_path / "level", SCHEMA)
    opened.remove(0)
    assert (tmp_path / "level").read_bytes() == before
    assert len(read_arrays(tmp_path / "level")[0]) > 10
