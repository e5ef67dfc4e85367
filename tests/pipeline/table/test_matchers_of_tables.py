"""A table of subscriptions has any matcher: each takes its changes, and is saved and opened with them."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from pathlib import Path

import pytest

import tamis
from tamis.matching.matchers import Choice
from tamis.pipeline import SubscriptionTable
from tamis.pipeline.workers.inputs import opened
from tamis.testing import reference_matches
from tamis.workloads.auction_lots import interests, lots
from tests.contract.every import every_matcher
from tests.pipeline.auction_day import SCHEMA

LOTS = list(islice(lots(5), 40))
TEXTS = {f"s{number}": text for number, text in enumerate(islice(interests(3), 60))}
NEW = {f"n{number}": text for number, text in enumerate(islice(interests(4), 40))}
PATTERNS = {"like": "title LIKE '%oa_%'", "not": "NOT title ILIKE '%desk%'", "regex": "title RLIKE '[a-c]o+'"}


def expected(texts: dict[str, str]) -> list[list[str]]:
    return [sorted(ids) for ids in reference_matches(texts, SCHEMA, LOTS)]


def matched(table: SubscriptionTable, version: int | None = None) -> list[list[str]]:
    """What a worker finds in the lots, by the files of that version."""
    (part,) = table.snapshot(version).parts
    return [sorted(ids) for ids in opened(part).match(LOTS).to_lists()]


@every_matcher
def test_a_table_of_any_matcher_follows_every_change(matcher: str, tmp_path: Path) -> None:
    held = dict(TEXTS)
    table = SubscriptionTable.create(tmp_path / "table", tamis.compile(held, SCHEMA, matcher=matcher))
    assert matched(table) == expected(held)
    for number, (id, text) in enumerate((NEW | PATTERNS).items()):
        gone, replaced = f"s{number}", f"s{59 - number // 3}"
        change = table.change(add={id: text, replaced: text}, remove=[gone] if gone in held else [])
        assert not change.errors
        held.pop(gone, None)
        held |= {id: text, replaced: text}
        if number == 20:
            table.fold()
    assert matched(table) == expected(held)
    assert matched(table, 1) == expected(TEXTS)
    again = SubscriptionTable(table.path)
    assert again.index().matcher.name == matcher
    assert sorted(again.index().ids().to_pylist()) == sorted(held)
    again.fold()
    again.sweep(timedelta(0))
    assert matched(SubscriptionTable(table.path)) == expected(held)
    assert SubscriptionTable(table.path).index().matcher.name == matcher


@pytest.mark.parametrize(
    ("matcher", "options"),
    [("tree", {"factor": ["period"], "collapse": False}), ("mbd", {"order": ["price", "period"]})],
)
def test_a_table_keeps_the_options_of_its_matcher(matcher: str, options: dict[str, object], tmp_path: Path) -> None:
    index = tamis.compile(TEXTS, SCHEMA, matcher=matcher, options=options)
    table = SubscriptionTable.create(tmp_path / "table", index)
    table.change(add=NEW)
    table.fold()
    kept = Choice.behind(table.index().matcher)
    assert kept == Choice.behind(index.matcher)
    assert all(list(kept.options[name]) == value for name, value in options.items() if isinstance(value, list))
    assert kept.options.get("collapse", False) is False
    assert matched(table) == expected(TEXTS | NEW)


@tamis.operator(cost=1.0)
def longer(title: str, length: int) -> bool:
    return len(title) > length


@pytest.mark.parametrize(("matcher", "schedule"), [("tree", "sub-order"), ("naive", "sequential")])
def test_a_table_keeps_the_schedule_of_its_operators(matcher: str, schedule: str, tmp_path: Path) -> None:
    calling = {"long": "price > 0 AND longer(3)"}
    index = tamis.compile(TEXTS | calling, SCHEMA, matcher=matcher, operators=[longer], schedule=schedule)
    SubscriptionTable.create(tmp_path / "table", index).change(add={"longest": "longer(5)"}, remove=["s0"])
    (tmp_path / "table").rename(tmp_path / "moved")
    table = SubscriptionTable(tmp_path / "moved", operators=[longer])
    now, was = table.index().calling, index.calling
    assert now is not None
    assert was is not None
    assert (now.schedule, table.index().matcher.name) == (was.schedule, matcher)
    titled = max(LOTS, key=lambda lot: len(str(lot.get("title", ""))))
    assert {"long", "longest"} <= set(table.index().match([titled]).to_lists()[0])
