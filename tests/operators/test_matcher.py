"""Indexes whose filters call operators: shared evaluations, guards first, changes, files, explanations, statistics."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.errors import IndexFileError, OperatorError, SubscriptionError
from tests.operators.places import SCHEMA, loc_in, seen, shot

FILTERS = {
    "mob": "loc_in('Bronx') AND seen('p', ?people) AND ?people > 3",
    "quiet": "loc_in('Bronx') AND seen('p', ?people) AND ?people <= 3",
    "full": "seen('p', ?people) AND ?people > capacity",
    "boats": "seen('t', ?tour) AND seen('c', ?coast) AND ?tour > 2 * ?coast",
    "none": "NOT seen('p', 1)",
    "plain": "capacity > 100",
}


class Counting:
    """The places' operators, counting their calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

        @tamis.operator(name="loc_in", cost=1.0)
        def counted_loc_in(lat: float, place: str) -> bool:
            self.calls.append(("loc_in", place))
            return bool(loc_in(lat, place))

        @tamis.operator(name="seen", cost=40.0)
        def counted_seen(image: bytes, what: str, number: int = tamis.Var) -> Any:
            self.calls.append(("seen", what, number))
            return seen(image, what, number)

        self.operators = [counted_loc_in, counted_seen]


def matched(index: tamis.Index, event: dict[str, Any]) -> list[str]:
    return sorted(index.match([event]).to_lists()[0])


def test_operators_and_plain_conditions_mix() -> None:
    index = tamis.compile(FILTERS, SCHEMA, operators=[loc_in, seen])
    assert matched(index, shot(40.85, "ppppp", capacity=4)) == ["full", "mob"]
    assert matched(index, shot(40.85, "pp", capacity=400)) == ["plain", "quiet"]
    assert matched(index, shot(40.7, "tttttcc")) == ["boats", "none"]
    assert matched(index, shot(40.85)) == []


def test_bindings_come_with_matches_under_the_names_of_the_filter() -> None:
    index = tamis.compile(FILTERS, SCHEMA, operators=[loc_in, seen])
    found = index.match([shot(40.7, "tttttcc"), shot(40.85, "ppppp")])
    bound = {(one.event, one.subscription): dict(one.variables) for one in found.bindings()}
    assert bound == {(0, "boats"): {"coast": 2, "tour": 5}, (1, "mob"): {"people": 5}}
    assert {one.substitutions for one in found.bindings()} == {1}
    assert found.bindings() is found.bindings()


def test_plain_filters_have_no_bindings() -> None:
    assert tamis.compile({"s": "lat > 4"}, SCHEMA).match([shot(40.0)]).bindings() == []


def test_a_predicate_is_evaluated_once_an_event_whoever_wants_it() -> None:
    counting = Counting()
    filters = {f"s{k}": f"loc_in('Bronx') AND seen('p', ?n) AND ?n > {k}" for k in range(500)}
    index = tamis.compile(filters, SCHEMA, operators=counting.operators)
    assert len(index.match([shot(40.85, "p" * 100), shot(40.0, "p")])) == 100
    assert counting.calls == [("loc_in", "Bronx"), ("loc_in", "Bronx"), ("seen", "p", tamis.Var)]
    assert index.operators["seen"].predicates == 1


def test_operators_run_only_where_a_guard_is_passed() -> None:
    counting = Counting()
    index = tamis.compile({"s": "capacity > 10 AND seen('p', 2)"}, SCHEMA, operators=counting.operators)
    events = [shot(40.0, "ppp", capacity=k) for k in range(20)]
    assert len(index.match(events)) == 9
    assert len(counting.calls) == 9


def test_a_constraint_that_fails_spares_the_other_operators() -> None:
    counting = Counting()
    dear = counting.operators[1].with_cost(0.1)  # evaluated first, as it is cheapest
    filters = {"s": "seen('p', ?n) AND ?n > 10 AND loc_in('Bronx') AND loc_in('Queens')"}
    index = tamis.compile(filters, SCHEMA, operators=[counting.operators[0], dear])
    index.match([shot(40.85, "pp")])
    assert counting.calls == [("seen", "p", tamis.Var)]


def test_an_alternative_that_holds_spares_the_others() -> None:
    counting = Counting()
    filters = {"s": "loc_in('Bronx') OR seen('p', 2) OR capacity > 5"}
    index = tamis.compile(filters, SCHEMA, operators=counting.operators)
    assert matched(index, shot(40.85, "pp", capacity=9)) == ["s"]
    assert counting.calls == []
    assert matched(index, shot(40.85, "pp")) == ["s"]
    assert len(counting.calls) == 1
    assert matched(index, shot(40.0, "pp")) == ["s"]


def test_subscriptions_are_added_and_removed() -> None:
    index = tamis.compile({"a": "loc_in('Bronx')"}, SCHEMA, operators=[loc_in, seen])
    assert index.add({"b": "seen('p', 1)", "c": "capacity > 3", "bad": "loc_out('x')"})[0][0] == "bad"
    assert (len(index), sorted(index.ids().to_pylist())) == (3, ["a", "b", "c"])
    assert matched(index, shot(40.85, "p", capacity=5)) == ["a", "b", "c"]
    with pytest.raises(SubscriptionError, match="'a' already"):
        index.add({"a": "lat > 3"})
    index.remove(["a", "c"])
    assert matched(index, shot(40.85, "p", capacity=5)) == ["b"]
    with pytest.raises(SubscriptionError, match="no subscription 'a'"):
        index.remove(["b", "a"])
    assert "b" in index
    assert index.text("b") == "seen('p', 1)"
    index.add({"a": "lat > 3"})
    assert matched(index, shot(40.85, "p", capacity=5)) == ["a", "b"]


def test_many_changes_leave_nothing_behind() -> None:
    index = tamis.compile({}, SCHEMA, operators=[loc_in, seen])
    for turn in range(8):
        index.add({f"{turn}-{k}": f"capacity > {k % 7} AND seen('p', {k % 50})" for k in range(400)})
        assert len(index.match([shot(40.0, "p" * 10, capacity=9)])) == 8 * 11
        index.remove([f"{turn}-{k}" for k in range(400)])
        assert len(index) == 0
        assert matched(index, shot(40.0, "p" * 10, capacity=9)) == []
    roster = index.calling._enrolled.roster  # type: ignore[union-attr]
    assert roster.given <= 1_400


def test_a_saved_index_remembers_what_it_learned(tmp_path: Path) -> None:
    learned = [loc_in.with_cost(None), seen.with_cost(None)]
    index = tamis.compile(FILTERS, SCHEMA, operators=learned, schedule="sub-order")
    index.match([shot(40.0 + k / 100, "pp" * (k % 3), capacity=3) for k in range(100)])
    index.save(tmp_path / "index")
    opened = tamis.Index.open(tmp_path / "index", operators=learned)
    assert len(opened) == len(index) == 6
    assert opened.operators["loc_in"].cost == pytest.approx(index.operators["loc_in"].cost, rel=1e-3)
    assert opened.operators["seen"].selectivity == pytest.approx(index.operators["seen"].selectivity, rel=1e-3)
    assert opened.calling.schedule == "sub-order"  # type: ignore[union-attr]
    assert matched(opened, shot(40.85, "ppppp", capacity=4)) == ["full", "mob"]


def test_an_index_says_which_operators_it_misses(tmp_path: Path) -> None:
    tamis.compile(FILTERS, SCHEMA, operators=[loc_in, seen]).save(tmp_path / "index")
    with pytest.raises(OperatorError, match=r"there is no operator seen.*operators=\[\.\.\.\]"):
        tamis.Index.open(tmp_path / "index", operators=[loc_in])


def test_operators_that_no_filter_calls_need_not_be_there(tmp_path: Path) -> None:
    tamis.compile({"s": "loc_in('Bronx')"}, SCHEMA, operators=[loc_in, seen]).save(tmp_path / "index")
    opened = tamis.Index.open(tmp_path / "index", operators=[loc_in])
    assert matched(opened, shot(40.85)) == ["s"]


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    tamis.compile(FILTERS, SCHEMA, operators=[loc_in, seen]).save(tmp_path / "index")
    file = tmp_path / "index" / "operators.json"
    file.write_text(json.dumps({"texts": {}, "learned": {}}))
    with pytest.raises(IndexFileError, match="checksum"):
        tamis.Index.open(tmp_path / "index", operators=[loc_in, seen])


def test_a_plain_index_is_saved_as_before(tmp_path: Path) -> None:
    tamis.compile({"s": "lat > 3"}, SCHEMA).save(tmp_path / "index")
    assert json.loads((tmp_path / "index" / "index.json").read_text())["format"] == 1
    assert not (tmp_path / "index" / "operators.json").exists()
    opened = tamis.Index.open(tmp_path / "index", operators=[loc_in])
    opened.add({"t": "loc_in('Bronx')"})
    assert matched(opened, shot(40.85)) == ["s", "t"]


def test_an_explanation_tells_the_course_of_the_event() -> None:
    index = tamis.compile(FILTERS, SCHEMA, operators=[loc_in, seen])
    explanation = index.explain(shot(40.85, "pp", capacity=4), "mob")
    assert not explanation.matched
    assert explanation.first_failure is not None
    assert explanation.first_failure.condition == "?people > 3"
    text = str(explanation)
    assert "held   seen('p', ?people)   (image = '<2 bytes>', ?people = 2)" in text
    assert "seen('p', ?x1) is true: ?x1 = 2, decides against 2" in text
    assert "evaluations for 5 in question" in text
    assert "with ?people = 5" in str(index.explain(shot(40.85, "ppppp"), "mob"))


def test_an_explanation_tells_what_was_not_asked_and_what_failed() -> None:
    @tamis.operator(cost=0.1)
    def broken(lat: float) -> bool:
        raise ValueError("no")

    index = tamis.compile({"s": "broken() AND loc_in('Bronx')"}, SCHEMA, operators=[broken, loc_in])
    explanation = index.explain(shot(40.85), "s")
    states = {verdict.condition: verdict.state for verdict in explanation.alternatives[0]}
    assert states == {"broken()": "unknown", "loc_in('Bronx')": "not asked"}
    assert explanation.first_failure is not None
    assert explanation.first_failure.condition == "broken()"
    absent = tamis.compile({"s": "seen('p', 1)"}, SCHEMA, operators=[seen]).explain(shot(40.0), "s")
    assert absent.alternatives[0][0].state == "absent"


def test_no_single_substitution_satisfies_all() -> None:
    @tamis.operator
    def pairs(lat: float, a: int = tamis.Var, b: int = tamis.Var) -> Any:
        return [(1, 2), (2, 3)]

    @tamis.operator
    def single(lat: float, a: int = tamis.Var) -> Any:
        return [3, 4]

    index = tamis.compile({"s": "pairs(?x, ?y) AND single(?x)"}, SCHEMA, operators=[pairs, single])
    explanation = index.explain(shot(40.0), "s")
    assert explanation.first_failure is not None
    assert explanation.first_failure.condition == "one substitution for all"
    assert matched(index, shot(40.0)) == []


def test_constraints_that_hold_of_different_bindings_are_said_not_to_hold_together() -> None:
    @tamis.operator
    def single(lat: float, a: int = tamis.Var) -> Any:
        return [3, 4]

    index = tamis.compile({"s": "single(?x) AND ?x != 3 AND ?x != 4"}, SCHEMA, operators=[single])
    explanation = index.explain(shot(40.0), "s")
    assert explanation.first_failure is not None
    assert explanation.first_failure.condition == "one substitution for all"


def test_statistics_tell_cost_calls_and_how_often_an_operator_held() -> None:
    index = tamis.compile(FILTERS, SCHEMA, operators=[loc_in, seen.with_cost(None)])
    table = index.operators
    assert [one.name for one in table] == ["loc_in", "seen"]
    assert (table["loc_in"].cost, table["seen"].cost, table["seen"].learned) == (1.0, None, True)
    index.match([shot(40.85, "pp")] * 100)
    assert index.operators["loc_in"].selectivity == 1.0
    cost = index.operators["seen"].cost
    assert cost is not None
    assert 0 < cost < 10
    assert index.operators["loc_in"].tally.evaluations == 100
    assert "loc_in(place: string): cost 1, 100 evaluations, held 100%" in str(index.operators)
    with pytest.raises(KeyError):
        table["nothing"]
    assert len(tamis.compile({}, SCHEMA).operators) == 0


def test_many_threads_match_while_subscriptions_come_and_go() -> None:
    index = tamis.compile({"s": "loc_in('Bronx') AND seen('p', ?n) AND ?n > 2"}, SCHEMA, operators=[loc_in, seen])
    stop, wrong = threading.Event(), list[object]()

    def match() -> None:
        while not stop.is_set():
            found = [ids[:1] for ids in index.match([shot(40.85, "ppp"), shot(40.0, "ppp")] * 8).to_lists()]
            if found != [["s"], []] * 8:
                wrong.append(found)

    threads = [threading.Thread(target=match) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(30):
            index.add({f"more{turn}": f"seen('p', {turn}) AND NOT loc_in('Queens') AND capacity > 1"})
            if turn % 2:
                index.remove([f"more{turn}"])
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert wrong == []


def test_tables_and_batches_are_taken_alike() -> None:
    index = tamis.compile(
        pa.table({"id": list(FILTERS), "filter": list(FILTERS.values())}), SCHEMA, operators=[loc_in, seen]
    )
    events = pa.table({"lat": [40.85, 40.85], "lon": [0.0, 0.0], "image": [b"ppppp", b"p"]})
    assert [sorted(ids) for ids in index.match(events).to_lists()] == [["mob"], ["quiet"]]


def test_a_schedule_that_is_none_is_refused() -> None:
    with pytest.raises(OperatorError, match="there is no schedule 'best'; there are naive, sequential"):
        tamis.compile({}, SCHEMA, operators=[loc_in], schedule="best")


def test_timestamps_reach_operators_and_users_as_datetimes() -> None:
    from datetime import UTC, datetime, timedelta

    schema = tamis.Schema.from_dict({"attributes": {"at": "timestamp"}, "event_types": {"e": {"at": "mandatory"}}})
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)

    @tamis.operator
    def later(at: datetime, hours: int, then: datetime = tamis.Var) -> Any:
        found = at + timedelta(hours=hours)
        return [found] if then is tamis.Var else found == then

    filters = {
        "bound": "later(2, ?t) AND ?t > '2024-05-01 13:00' AND ?t != at",
        "given": "later(1, TIMESTAMP '2024-05-01 13:00')",
        "never": "later(1, ?t) AND ?t = at",
    }
    index = tamis.compile(filters, schema, operators=[later])
    found = index.match([{"at": noon}])
    assert sorted(found.to_lists()[0]) == ["bound", "given"]
    assert found.bindings()[0].variables == {"t": noon + timedelta(hours=2)}
