"""What events teach orders the calls of those that follow: in one process, within one batch, from the first plan on."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.errors import OperatorError
from tamis.operators.schedules import SCHEDULES
from tamis.pipeline.table.calling import Packed
from tests.operators.places import loc_in

SCHEMA = tamis.Schema.from_dict({"attributes": {"n": "integer"}, "event_types": {"e": {"n": "mandatory"}}})
LEARNING = ["sub-order", "adaptive"]
EVENTS = [{"n": number} for number in range(2_048)]
FILTERS = {f"f{number}": f"often({number}, 1) AND often({number}, 2) AND often({number}, 3)" for number in range(8)}
"""Each can be decided by one call; no order in which they were written says by which."""


def rarely(n: int, salt: int) -> bool:
    return (n * 7 + salt) % 50 == 0


class Often:
    """Holds always, but for one of three, which hardly ever does. Counts the calls of each event."""

    def __init__(self, **declared: Any) -> None:
        self.calls = [0] * len(EVENTS)

        @tamis.operator(cost=1.0, **declared)
        def often(n: int, salt: int, which: int) -> bool:
            self.calls[n] += 1
            return which != 1 + salt % 3 or rarely(n, salt)

        self.operator = often

    def each(self, first: int, end: int) -> float:
        """Calls an event of some."""
        return sum(self.calls[first:end]) / (end - first)


def compiled(operator: tamis.Operator, schedule: str) -> tamis.Index:
    return tamis.compile(FILTERS, SCHEMA, operators=[operator], schedule=schedule)


def right(matches: Any, first: int) -> bool:
    wanted = [[f"f{k}" for k in range(8) if rarely(first + row, k)] for row in range(len(matches.to_lists()))]
    return [sorted(ids) for ids in matches.to_lists()] == wanted


@pytest.mark.parametrize("schedule", LEARNING)
def test_a_process_plans_anew_by_what_its_own_events_teach(schedule: str) -> None:
    often = Often()
    index = compiled(often.operator, schedule)
    for first in range(0, 512, 64):
        assert right(index.match(EVENTS[first : first + 64]), first)
    assert often.each(0, 64) > 13
    assert often.each(128, 512) < 8.8  # 8 decide all that does not match


@pytest.mark.parametrize("schedule", LEARNING)
def test_a_large_batch_learns_from_its_first_events(schedule: str) -> None:
    often = Often()
    assert right(compiled(often.operator, schedule).match(EVENTS), 0)
    assert often.each(0, 64) > 13
    assert often.each(128, 2_048) < 8.8


def test_batches_grow_to_their_full_size_as_they_teach() -> None:
    sizes: list[int] = []

    @tamis.operator(batch=True)
    def odd(n: pa.Array) -> list[bool]:
        sizes.append(len(n))
        return [one % 2 == 1 for one in n.to_pylist()]

    index = tamis.compile({"odd": "odd()"}, SCHEMA, operators=[odd])
    index.match(EVENTS * 4)
    assert sizes == [64, 128, 256, 512, 1_024, 2_048, 2_048, 2_048, 64]
    sizes.clear()
    index.match(EVENTS * 2)
    assert sizes == [2_048, 2_048]


def test_events_that_no_operator_is_asked_about_are_taken_in_few_batches() -> None:
    sizes: list[int] = []

    @tamis.operator(batch=True)
    def odd(n: pa.Array) -> list[bool]:
        sizes.append(len(n))
        return [one % 2 == 1 for one in n.to_pylist()]

    index = tamis.compile({"odd": "n >= 1960 AND odd()"}, SCHEMA, operators=[odd])
    assert len(index.match(EVENTS)) == 44
    assert sizes == [24, 64]  # the ends of five chunks, from 64 events to 1,024, and of what is left


def test_sub_order_plans_anew_once_beliefs_have_moved_and_not_with_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    from tamis.lab.schedules.sub_order import SubOrder

    planned: list[SubOrder] = []
    replan = SubOrder.replan

    def counted(self: SubOrder) -> None:
        planned.append(self)
        replan(self)

    monkeypatch.setattr(SubOrder, "replan", counted)
    index = compiled(Often().operator, "sub-order")
    for first in range(0, 2_048, 64):
        index.match(EVENTS[first : first + 64])
    assert 2 <= len(planned) <= 12  # of 33: the first plan, and after each batch


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_matching_the_same_events_again_asks_the_same(schedule: str) -> None:
    """A plan depends on what was declared and on the events in their order; on no clock, where costs are declared."""
    runs = []
    for _ in range(2):
        often = Often()
        index = compiled(often.operator, schedule)
        for first, end in ((0, 700), (700, 701), (701, 2_048)):
            index.match(EVENTS[first:end])
        runs.append(often.calls)
    assert runs[0] == runs[1]


class Pair:
    """`usual` nearly always holds and `unusual` hardly ever, and so they may be declared. Counts the calls of each."""

    def __init__(self, usual: float | None = None, unusual: float | None = None) -> None:
        self.calls = {"usual": 0, "unusual": 0}

        @tamis.operator(name="usual", cost=1.0, selectivity=usual)
        def holds(n: int, salt: int) -> bool:
            self.calls["usual"] += 1
            return not rarely(n, salt)

        @tamis.operator(name="unusual", cost=1.0, selectivity=unusual)
        def fails(n: int, salt: int) -> bool:
            self.calls["unusual"] += 1
            return rarely(n, salt)

        self.operators = [holds, fails]

    def compiled(self, schedule: str) -> tamis.Index:
        filters = {f"f{k}": f"usual({k}) AND unusual({k + 50})" for k in range(20)}
        return tamis.compile(filters, SCHEMA, operators=self.operators, schedule=schedule)


@pytest.mark.parametrize("schedule", LEARNING)
def test_the_first_plan_goes_by_declared_selectivities(schedule: str) -> None:
    right, wrong = Pair(usual=0.98, unusual=0.02), Pair(usual=0.02, unusual=0.98)
    found = right.compiled(schedule).match(EVENTS[:32])
    assert found.to_lists() == wrong.compiled(schedule).match(EVENTS[:32]).to_lists()
    assert right.calls["unusual"] == wrong.calls["usual"] == 32 * 20
    assert right.calls["usual"] < 32


@pytest.mark.parametrize("schedule", LEARNING)
def test_observation_replaces_what_was_declared(schedule: str) -> None:
    pair = Pair(usual=0.02, unusual=0.98)
    index = pair.compiled(schedule)
    index.match(EVENTS[:256])
    before = dict(pair.calls)
    assert before["usual"] >= 64 * 20
    index.match(EVENTS[256:512])
    assert pair.calls["usual"] - before["usual"] < 256 * 2
    assert pair.calls["unusual"] - before["unusual"] >= 256 * 19


@pytest.mark.parametrize("schedule", LEARNING)
def test_a_saved_index_is_opened_with_what_was_learned_and_else_with_what_is_declared(
    schedule: str, tmp_path: Path
) -> None:
    wrong = Pair(usual=0.02, unusual=0.98)
    index = wrong.compiled(schedule)
    index.save(tmp_path / "new")
    index.match(EVENTS[:256])
    index.save(tmp_path / "old")
    for saved, declared in (("new", Pair(usual=0.98, unusual=0.02)), ("old", wrong)):
        opened = tamis.Index.open(tmp_path / saved, operators=declared.operators)
        before = declared.calls["usual"]
        opened.match(EVENTS[:32])
        assert declared.calls["usual"] - before < 32 * 2, saved


def test_statistics_tell_a_declared_selectivity_until_one_is_observed() -> None:
    index = Pair(usual=0.3).compiled("sub-order")
    usual, unusual = index.operators["usual"], index.operators["unusual"]
    assert (usual.selectivity, usual.observed, unusual.selectivity, unusual.observed) == (0.3, False, None, False)
    assert str(usual) == "usual(salt: integer): cost 1, 0 evaluations, expected to hold 30%"
    index.match(EVENTS[:64])
    usual = index.operators["usual"]
    assert usual.observed
    assert usual.selectivity is not None
    assert usual.selectivity > 0.9
    assert ", held 9" in str(usual)


@pytest.mark.parametrize("wrong", [-0.1, 1.01, float("nan"), True, "0.5"])
def test_a_selectivity_is_a_probability(wrong: Any) -> None:
    with pytest.raises(OperatorError, match=r"selectivity is the probability that a call holds, from 0 to 1"):
        tamis.operator(name="x", selectivity=wrong)(rarely)


@pytest.mark.parametrize("certain", [0, 1.0])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_selectivity_may_be_declared_as_certain_and_still_be_wrong(schedule: str, certain: float) -> None:
    often = Often(selectivity=certain)
    assert right(compiled(often.operator.with_selectivity(certain), schedule).match(EVENTS[:256]), 0)


def test_a_declared_selectivity_travels_with_its_operator() -> None:
    """As operators go to Spark's workers: those of a module by their place, with what was changed."""
    assert pickle.loads(pickle.dumps(loc_in.with_selectivity(0.1))).selectivity == 0.1
    assert pickle.loads(pickle.dumps(loc_in)) is loc_in
    assert Packed.of(Often(selectivity=0.25).operator).operator().selectivity == 0.25
