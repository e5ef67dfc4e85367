"""Levels under change: they merge as they grow, lose what is removed, and miss nothing while threads share them."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tamis.errors import IndexFileError
from tamis.language import DEFAULT_LIMITS, bind
from tamis.language.shapes import Bound
from tamis.matching.base.matcher import Subscriptions
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes import levelled_matcher as module
from tamis.matching.codes.levelled_matcher import FOLD, GROWTH, WAITING
from tamis.matching.columnar.level import ColumnarMatcher
from tamis.testing import reference_matches
from tests.matching.columnar.subject import SCHEMA, answers, matcher_of, subscriptions_of
from tests.matching.columnar.test_bucket_pool import MIXED
from tests.matching.columnar.test_level import EVENTS


def some(first: int, last: int) -> dict[str, str]:
    return {str(k): MIXED[str(k)] for k in range(first, last)}


def sizes(matcher: ColumnarMatcher) -> list[int]:
    return [len(level) for level in matcher._levels]


def expected(ids: Iterable[str]) -> list[list[str]]:
    return reference_matches({id: MIXED[id] for id in ids}, SCHEMA, EVENTS)


def levelled(*counts: int) -> ColumnarMatcher:
    """A matcher with levels of these sizes, in the order of `MIXED`."""
    matcher, first = ColumnarMatcher(SCHEMA, (), None), 0
    for count in counts:
        matcher._levels += matcher_of(some(first, first + count))._levels
        first += count
    return matcher


def test_small_additions_wait_for_the_next_match() -> None:
    matcher = matcher_of(some(0, 500))
    matcher.add(subscriptions_of(some(500, 500 + WAITING)))
    assert sizes(matcher) == [500]
    assert len(matcher) == 500 + WAITING
    assert "510" in matcher
    assert matcher.text("510") == MIXED["510"]
    assert sorted(matcher.ids().to_pylist()) == sorted(some(0, 500 + WAITING))
    assert sizes(matcher) == [500]
    assert answers(matcher, EVENTS) == expected(some(0, 500 + WAITING))
    assert sizes(matcher) == [500, WAITING]


def test_large_additions_are_a_level_at_once() -> None:
    matcher = matcher_of(some(0, 500))
    matcher.add(subscriptions_of(some(500, 501 + WAITING)))
    assert sizes(matcher) == [500, WAITING + 1]


def test_what_waits_can_be_removed_again() -> None:
    matcher = matcher_of(some(0, 100))
    matcher.add(subscriptions_of(some(100, 110)))
    matcher.remove(["103", "5"])
    kept = [id for id in some(0, 110) if id not in ("103", "5")]
    assert "103" not in matcher
    assert len(matcher) == 108
    assert answers(matcher, EVENTS) == expected(kept)


def test_the_number_of_levels_stays_logarithmic() -> None:
    matcher = matcher_of(some(0, 2000))
    most = 0
    for first in range(2000, 2950, 10):
        matcher.add(subscriptions_of(some(first, first + 10)))
        answers(matcher, EVENTS[:1])
        most = max(most, len(matcher._levels))
        for larger, smaller in zip(sizes(matcher)[1:], sizes(matcher)[2:], strict=False):
            assert larger >= GROWTH * smaller
    assert 2 <= most <= 5
    assert answers(matcher, EVENTS) == expected(some(0, 2950))


def test_the_base_is_rebuilt_when_the_levels_over_it_have_grown() -> None:
    matcher = matcher_of(some(0, 200))
    matcher.add(subscriptions_of(some(200, 200 + int(200 * FOLD))))
    assert sizes(matcher) == [200, 100]
    matcher.add(subscriptions_of(some(300, 380)))
    assert sizes(matcher) == [380]
    assert answers(matcher, EVENTS) == expected(some(0, 380))


def test_an_empty_base_is_replaced() -> None:
    matcher = matcher_of({})
    matcher.add(subscriptions_of(some(0, 5)))
    assert answers(matcher, EVENTS) == expected(some(0, 5))
    assert sizes(matcher) == [5]


def test_folding_makes_one_level_without_what_was_removed() -> None:
    matcher = levelled(300, 60, 10)
    matcher.add(subscriptions_of(some(370, 375)))
    matcher.remove(["3", "310", "365", "372"])
    kept = [id for id in some(0, 375) if id not in ("3", "310", "365", "372")]
    matcher.fold()
    assert sizes(matcher) == [371]
    assert all(len(level.gone) == 0 for level in matcher._levels)
    assert answers(matcher, EVENTS) == expected(kept)
    levels = matcher._levels
    matcher.fold()
    assert matcher._levels is levels  # there was nothing to do


@pytest.mark.parametrize("id", ["7", "307", "365"])
def test_removal_and_return_in_every_level(id: str) -> None:
    matcher = levelled(300, 60, 10)
    matcher.remove([id])
    assert id not in matcher
    with pytest.raises(KeyError):
        matcher.text(id)
    assert answers(matcher, EVENTS) == expected(other for other in some(0, 370) if other != id)
    matcher.add(subscriptions_of({id: "TRUE"}))
    assert matcher.text(id) == "TRUE"
    found = answers(matcher, EVENTS)
    assert all(row.count(id) == 1 for row in found)
    assert len(matcher) == 370
    matcher.fold()
    assert answers(matcher, EVENTS) == found


def test_saving_opening_and_saving_again_links_what_did_not_change(tmp_path: Path) -> None:
    folders = [tmp_path / str(k) for k in range(3)]
    for folder in folders:
        folder.mkdir()
    matcher = levelled(300, 60)
    matcher.remove(["5", "310"])
    matcher.save(folders[0])
    opened = ColumnarMatcher.open(folders[0], SCHEMA)
    assert answers(opened, EVENTS) == answers(matcher, EVENTS)
    assert len(opened) == 358
    opened.remove(["6"])
    opened.add(subscriptions_of(some(360, 370)))
    opened.save(folders[1])
    assert (folders[1] / "level-0.tamis").stat().st_ino == (folders[0] / "level-0.tamis").stat().st_ino
    again = ColumnarMatcher.open(folders[1], SCHEMA)
    kept = [id for id in some(0, 370) if id not in ("5", "6", "310")]
    assert answers(again, EVENTS) == expected(kept)
    again.fold()
    again.save(folders[2])
    assert answers(ColumnarMatcher.open(folders[2], SCHEMA), EVENTS) == expected(kept)
    assert len(ColumnarMatcher.open(folders[0], SCHEMA)) == 358


def test_statistics_are_remembered_for_what_is_added_later(tmp_path: Path) -> None:
    known = Statistics.from_events(SCHEMA.to_arrow(EVENTS))
    matcher_of(some(0, 10), statistics=known).save(tmp_path)
    assert ColumnarMatcher.open(tmp_path, SCHEMA)._statistics == known


def test_what_waits_was_accepted_under_its_own_limits() -> None:
    matcher = matcher_of({"base": "n > 1"})
    long = f"s LIKE '%{'x' * 1500}%'"  # a longer pattern than is usually taken
    for id, text, limits in (("long", long, replace(DEFAULT_LIMITS, pattern=2000)), ("plain", "n > 1", DEFAULT_LIMITS)):
        bound = bind([text], SCHEMA, limits)
        assert bound.errors == []
        matcher.add(Subscriptions(pa.array([id]), pa.array([text]), bound))
    assert answers(matcher, [{"n": 5, "s": "x" * 1500}]) == [["base", "long", "plain"]]


@pytest.mark.parametrize("change", ["add", "add many", "remove", "remove waiting"])
def test_a_change_while_another_thread_settles_is_not_lost(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = matcher_of({"base": "TRUE", "gone": "TRUE"})
    matcher.add(subscriptions_of({"waiting": "TRUE", "leaving": "TRUE"}))
    many = {f"late {k}": "TRUE" for k in range(WAITING + 1)}
    changes: dict[str, Any] = {
        "add": lambda: matcher.add(subscriptions_of({"late": "TRUE"})),
        "add many": lambda: matcher.add(subscriptions_of(many)),
        "remove": lambda: matcher.remove(["gone"]),
        "remove waiting": lambda: matcher.remove(["leaving"]),
    }
    thread = threading.Thread(target=changes[change])

    def slow(*arguments: Any) -> Bound:
        monkeypatch.setattr(module, "bind", bind)
        thread.start()
        thread.join(0.3)  # it may go ahead, or wait; it must not get lost
        return bind(*arguments)

    monkeypatch.setattr(module, "bind", slow)
    answers(matcher, [{}])
    thread.join()
    ids = {"base", "gone", "waiting", "leaving"}
    ids |= {"add": {"late"}, "add many": {*many}}.get(change, set())
    ids -= {"remove": {"gone"}, "remove waiting": {"leaving"}}.get(change, set())
    assert answers(matcher, [{}]) == [sorted(ids)]
    assert len(matcher) == len(ids)


def test_two_threads_match_while_a_third_changes() -> None:
    staying, changing = some(0, 400), some(400, 1000)
    matcher = matcher_of(staying)
    least, most = ([{*row} for row in expected(ids)] for ids in (staying, some(0, 1000)))
    batch, done = SCHEMA.to_arrow(EVENTS), threading.Event()

    def match() -> int:
        rounds = 0
        while not done.is_set() or rounds < 2:
            for must, may, row in zip(least, most, matcher.match(batch).to_lists(), strict=True):
                assert len(row) == len({*row})
                assert must <= {*row} <= may
            rounds += 1
        return rounds

    rng, present = random.Random(2), set()
    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(match) for _ in range(2)]
        try:
            for _ in range(60):
                batch_of = [id for id in rng.sample(sorted(changing), 12) if id not in present]
                matcher.add(subscriptions_of({id: changing[id] for id in batch_of}))
                present |= {*batch_of}
                leaving = rng.sample(sorted(present), len(present) // 3)
                matcher.remove(leaving)
                present -= {*leaving}
        finally:
            done.set()
        assert all(reader.result() >= 2 for reader in readers)
    assert answers(matcher, EVENTS) == expected([*staying, *present])
    assert sorted(matcher.ids().to_pylist()) == sorted([*staying, *present])


def test_a_folder_without_its_levels_is_refused(tmp_path: Path) -> None:
    matcher_of(some(0, 10)).save(tmp_path)
    (tmp_path / "level-0.tamis").unlink()
    with pytest.raises(IndexFileError, match="level-0"):
        ColumnarMatcher.open(tmp_path, SCHEMA)
    (tmp_path / "levels.tamis").unlink()
    with pytest.raises(IndexFileError, match="levels"):
        ColumnarMatcher.open(tmp_path, SCHEMA)
