"""The plan finds what to look subscriptions up by: asserted on the work that matching does."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tamis.matching.base.statistics import Statistics
from tamis.matching.columnar import plan as module
from tamis.matching.columnar.level import ColumnarLevel
from tamis.matching.columnar.plan import SCANNED, Costs
from tamis.matching.columnar.planning_kernels import FINEST, MOST_COPIES_OF_A_LIST, cell
from tamis.testing import Generated, crowds, reference_matches
from tests.generated import cases
from tests.matching.columnar.subject import SCHEMA, found, level_of, matches_of

COUNT = 10_000
EVENTS: list[dict[str, Any]] = [
    {
        "n": rng.randrange(COUNT),
        "m": rng.randrange(COUNT),
        "f": 1000 * rng.random(),
        "s": f"v{rng.randrange(10)}",
        "tags": [f"v{rng.randrange(COUNT)}" for _ in range(3)],
    }
    for rng in [random.Random(7)]
    for _ in range(100)
]


def work_of(level: ColumnarLevel, events: list[dict[str, Any]]) -> tuple[float, float]:
    """Candidates verified and probes made, per event."""
    work = matches_of(level, events).work
    return work.candidates / len(events), work.probes / len(events)


@pytest.mark.parametrize(
    ("texts", "candidates", "probes"),
    [
        ([f"n = {k}" for k in range(COUNT)], 1, 1),
        ([f"s = 'v{k % 10}' AND n = {k}" for k in range(COUNT)], 1, 1),
        ([f"n IN ({k}, {k + 1}, {k + 2})" for k in range(COUNT)], 3, 1),
        ([f"tags = 'v{k}'" for k in range(COUNT)], 3, 3),
        ([f"n BETWEEN {k} AND {k + 10}" for k in range(COUNT)], 25, 3),
        ([f"n BETWEEN {k} AND {k + 99} AND m BETWEEN {COUNT - k} AND {COUNT - k + 99}" for k in range(COUNT)], 25, 10),
        ([f"t LIKE '%{k}%' AND n = {k}" for k in range(COUNT)], 1, 1),
        ([f"s LIKE '%v{k}%'" for k in range(COUNT)], 1, 1),
        ([f"s LIKE 'v{k}%'" for k in range(COUNT)], 25, 5),
        ([f"n = {k} OR m = {k}" for k in range(COUNT)], 2, 2),
        ([f"n = {k} AND f != 3 AND s IS NOT NULL AND m NOT IN (1, 2)" for k in range(COUNT)], 1, 1),
    ],
    ids=[
        "one equality", "a hot and a rare equality", "a list", "one of many values", "narrow ranges",
        "ranges in two dimensions", "an equality beside a pattern", "infixes", "prefixes", "two alternatives",
        "an equality beside negations",
    ],
)  # fmt: skip
def test_an_event_is_compared_with_few_of_ten_thousand(texts: list[str], candidates: float, probes: float) -> None:
    level = level_of(texts)
    done = work_of(level, EVENTS)
    assert done[0] <= candidates
    assert done[1] <= probes
    some = {str(k): texts[k] for k in range(0, COUNT, 40)}
    answers = [[id for id in row if id in some] for row in found(level, EVENTS[:20])]
    assert answers == reference_matches(some, SCHEMA, EVENTS[:20])


def test_thresholds_are_verified_only_where_they_match() -> None:
    level = level_of([f"n > {k}" for k in range(COUNT)])
    assert work_of(level, EVENTS)[0] <= 1.1 * len(matches_of(level, EVENTS)) / len(EVENTS)


def test_a_hot_value_is_looked_up_together_with_another_attribute() -> None:
    level = level_of([f"s = 'v{k % 10}' AND m = {k % 1000} AND n < {k}" for k in range(COUNT)])
    assert len(level._groups) == 1
    columns = {level.encoder.columns[column].attribute for column in level._groups.sources[0].tolist()[:2]}
    assert columns == {"s", "m"}


def test_only_ranges_are_looked_up_by_cells() -> None:
    equalities = level_of([f"n = {k}" for k in range(COUNT)])
    assert len(equalities._ranges[0]) == 0
    ranges = level_of([f"n BETWEEN {k} AND {k + 10}" for k in range(COUNT)])
    assert [ranges.encoder.columns[column].attribute for column in ranges._ranges[0]] == ["n"]


def test_few_subscriptions_are_scanned() -> None:
    level = level_of([f"n = {k}" for k in range(SCANNED)])
    assert len(level._groups) == 0
    assert work_of(level, EVENTS)[1] == 0
    assert found(level, [{"n": 3}, {"n": SCANNED}]) == [["3"], []]


def test_subscriptions_that_ask_for_nothing_are_at_the_root() -> None:
    level = level_of(["TRUE"] * (SCANNED + 100))
    assert len(level._groups) == 0
    assert len(matches_of(level, [{}, {"n": 1}])) == 2 * (SCANNED + 100)


def test_lists_longer_than_their_copies_are_worth_are_not_looked_up_by() -> None:
    listed = ", ".join(str(7 * k) for k in range(MOST_COPIES_OF_A_LIST + 1))
    texts = {str(k): f"n IN ({listed}, {k})" for k in range(SCANNED + 20)}
    level = level_of(texts)
    assert len(level._buckets.positions) == len(texts)
    assert found(level, [{"n": 5}, {"n": 7}]) == [["5"], sorted(texts)]


def test_statistics_move_the_cells_to_where_the_events_are() -> None:
    rng = random.Random(3)
    texts = [f"n BETWEEN {k} AND {k + 50}" for k in range(COUNT)]
    events = [{"n": rng.randrange(100)} for _ in range(2000)]
    known = level_of(texts, statistics=Statistics.from_events(SCHEMA.to_arrow(events)))
    before, after = work_of(level_of(texts), events), work_of(known, events)
    assert after[0] < 0.8 * before[0]
    assert after[1] < before[1]
    assert found(known, events[:20]) == found(level_of(texts), events[:20])


def test_statistics_hang_groups_under_the_attribute_that_events_seldom_have() -> None:
    rng = random.Random(3)
    texts = [f"m = {k % 97} AND n = {k % 89}" for k in range(3000)]
    events: list[dict[str, Any]] = [{"m": rng.randrange(97)} for _ in range(990)]
    events += [{"m": rng.randrange(97), "n": rng.randrange(89)} for _ in range(10)]
    known = level_of(texts, statistics=Statistics.from_events(SCHEMA.to_arrow(events)))
    hangs = [known.encoder.columns[c].attribute for c, n in enumerate(np.diff(known._groups.starts)) if n]
    assert hangs == ["n"]
    assert found(known, events) == found(level_of(texts), events)


@pytest.mark.parametrize("function", [cell, cell.py_func], ids=["compiled", "interpreted"])
def test_a_cell_is_how_many_edges_are_not_above_the_code(function: Any) -> None:
    edges = np.sort(np.random.default_rng(1).integers(0, 3000, (1, 1 << FINEST)).astype(np.int32), axis=1)
    edges[0, -1] = 2**31 - 1
    for code in range(-1, 3001, 7):
        assert function(edges, 0, code) == np.count_nonzero(edges[0, :-1] <= code)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lookups cost nothing, so that even few subscriptions are dealt to groups of every kind."""
    monkeypatch.setattr(module, "SCANNED", 0)
    monkeypatch.setattr(module, "SMALL", Costs(probe=0.0, hit=0.0, check=0.0))


@pytest.mark.usefixtures("eager")
@settings(max_examples=cases(25), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(workload=crowds(max_subscriptions=100))
def test_whatever_they_are_looked_up_by_crowds_are_found(workload: Generated) -> None:
    level = level_of(workload.subscriptions, workload.schema)
    expected = reference_matches(workload.subscriptions, workload.schema, workload.events)
    assert found(level, workload.events, workload.schema) == expected


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("seed", range(3))
def test_whatever_they_are_looked_up_by_conjunctions_on_few_values_are_found(seed: int) -> None:
    rng = random.Random(seed)
    forms: list[Callable[[], str]] = [
        lambda: f"n = {rng.randrange(6)}", lambda: f"m = {rng.randrange(6)}", lambda: f"s = 'v{rng.randrange(4)}'",
        lambda: f"f BETWEEN {rng.randrange(9)} AND {rng.randrange(6, 12)}", lambda: f"n > {rng.randrange(6)}",
        lambda: f"m IN ({rng.randrange(6)}, {rng.randrange(6)}, {rng.randrange(6)})", lambda: "n < m",
        lambda: f"tags = 'v{rng.randrange(5)}'", lambda: f"sizes = {rng.randrange(5)}", lambda: "NOT (f < g)",
        lambda: f"s LIKE '%{rng.randrange(4)}'", lambda: f"sizes > {rng.randrange(5)}", lambda: "t != 'x'",
        lambda: f"kind <= '{rng.choice(['bed', 'seat', 'cot'])}'", lambda: f"g <= {rng.randrange(9)}",
        lambda: f"n NOT IN ({rng.randrange(6)}, {rng.randrange(6)})", lambda: f"t > '{rng.choice('axz')}'",
    ]  # fmt: skip
    texts = {str(k): " AND ".join(form() for form in rng.sample(forms, rng.randint(1, 6))) for k in range(600)}
    events = [
        {
            "n": rng.randrange(6), "m": rng.randrange(6), "s": f"v{rng.randrange(4)}", "f": rng.randrange(12) + 0.0,
            "g": rng.randrange(12) + 0.5, "t": rng.choice("axyz"), "tags": [f"v{rng.randrange(6)}" for _ in range(2)],
            "sizes": [rng.randrange(6) for _ in range(3)], "kind": rng.choice(["bed", "cot", "chair"]),
        }
        for _ in range(60)
    ]  # fmt: skip
    for event in events[::4]:
        del event[rng.choice(list(event))]
    level = level_of(texts)
    sizes = (level._groups.sources != level.encoder.singles).sum(1) + (level._groups.sets >= 0)
    assert {*sizes.tolist()} == {1, 2, 3}  # groups of one, two and three dimensions
    assert (level._groups.sets >= 0).any()
    assert len(level._ranges[0]) > 0
    assert found(level, events) == reference_matches(texts, SCHEMA, events)
