"""What slow patterns took is charged to the subscriptions that hold them, and to nobody else."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import tamis
from tamis.arrays import Floats, Int32s
from tamis.errors import PipelineError
from tamis.matching.patterns import PatternSet
from tamis.matching.patterns import like_set as steps
from tamis.matching.patterns.metering import metered
from tamis.pipeline.workers import charging as charging_module
from tamis.pipeline.workers.charging import Charging, Desk, write_left_out

SCHEMA = tamis.Schema.from_dict(
    {
        "attributes": {"title": "string", "tags": "string", "price": "integer"},
        "event_types": {"sale": {"title": "optional", "tags": "optional", "price": "optional"}},
    }
)
RANDOM = "".join(random.Random(7).choices("ab", k=100_000))
LONG = "q" + "ab" * 300_000 + RANDOM
# Found by the q, and then all of it but its end fits at every other place.
SLOW_LIKE = "title LIKE '%" + "_b" * 400 + "_q%'"
SLOW_RLIKE = "title RLIKE 'a[ab]{40}b[ab]{40}[0-9]'"
INNOCENT = {
    "infix": "title LIKE '%ab%'",
    "inner": "title LIKE '%qa%ba%'",
    "gated": "title RLIKE 'sofas? [0-9]+'",
    "other": "tags LIKE '%a_b%' OR price > 3",
    "not": "NOT title LIKE '%x_y%'",
}
every_metered = pytest.mark.parametrize("matcher", ["columnar", "scan", "tree"])


def charged(index: tamis.Index, desk: Path, *events: Mapping[str, object]) -> tuple[dict[str, float], list[list[str]]]:
    charging = Charging(index, str(desk))
    with metered(charging):
        matches = index.match(list(events))
    charging.tell()
    return Desk(desk).taken(), [sorted(ids) for ids in matches.to_lists()]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    return tmp_path


@every_metered
@pytest.mark.parametrize(
    "slow", [SLOW_LIKE, SLOW_LIKE.replace("LIKE", "ILIKE"), SLOW_RLIKE], ids=["LIKE", "ILIKE", "RLIKE"]
)
def test_only_whoever_holds_a_slow_pattern_is_charged(slow: str, matcher: str, desk: Path) -> None:
    index = tamis.compile({**INNOCENT, "slow": slow}, SCHEMA, matcher=matcher)
    assert not index.errors
    event = {"event_type": "sale", "title": LONG, "tags": "a-b", "price": 1}
    taken, matched = charged(index, desk, event)
    assert list(taken) == ["slow"]
    assert matched == [["infix", "inner", "not", "other"]]


@every_metered
def test_holders_of_one_pattern_pay_in_equal_parts_whatever_else_they_ask_for(matcher: str, desk: Path) -> None:
    both = {"one": SLOW_LIKE, "two": f"price > 3 AND ({SLOW_LIKE} OR price = 7)", "negated": f"NOT ({SLOW_LIKE})"}
    taken, _ = charged(
        tamis.compile(both | INNOCENT, SCHEMA, matcher=matcher), desk, {"event_type": "sale", "title": LONG}
    )
    assert sorted(taken) == ["negated", "one", "two"]
    assert taken["one"] == pytest.approx(taken["two"]) == pytest.approx(taken["negated"])


@every_metered
def test_whoever_was_added_after_others_is_charged_and_whoever_was_removed_is_not(matcher: str, desk: Path) -> None:
    index = tamis.compile(INNOCENT | {"gone": SLOW_LIKE}, SCHEMA, matcher=matcher)
    index.add({"late": SLOW_LIKE.replace("_q%", "__q%")})
    index.remove("gone")
    taken, _ = charged(index, desk, {"event_type": "sale", "title": LONG})
    assert "gone" not in taken
    assert "late" in taken


def test_short_values_and_plain_patterns_are_charged_to_nobody(desk: Path) -> None:
    index = tamis.compile(INNOCENT | {"slow": SLOW_LIKE, "regex": "title RLIKE '(sofa|chair)s? [0-9]+'"}, SCHEMA)
    charging = Charging(index, str(desk))
    with metered(charging):
        index.match([{"event_type": "sale", "title": "an oak chair 7 qab"}] * 100)
    charging.tell()
    assert Desk(desk).taken() == {}


@every_metered
@pytest.mark.parametrize("slow", [SLOW_LIKE, SLOW_RLIKE], ids=["LIKE", "RLIKE"])
def test_who_is_left_out_is_not_run_unless_somebody_else_holds_the_pattern(slow: str, matcher: str, desk: Path) -> None:
    index = tamis.compile(INNOCENT | {"slow": slow, "same": slow}, SCHEMA, matcher=matcher)
    event = {"event_type": "sale", "title": LONG}
    charged(index, desk, event)  # what is slow is alone from here on
    write_left_out(desk, ["slow"])
    assert "same" in charged(index, desk, event)[0]
    write_left_out(desk, ["slow", "same"])
    before = Desk(desk)
    before.taken()
    charging = Charging(index, str(desk))
    with metered(charging):
        index.match([event | {"title": LONG + "!"}])
    charging.tell()
    assert before.taken() == {}


def test_a_decision_taken_while_a_value_is_matched_counts_for_the_rest_of_it(desk: Path) -> None:
    many = {f"slow{i}": SLOW_LIKE.replace("q%", f"{'_' * i}q%") for i in range(8)}
    index = tamis.compile(INNOCENT | many, SCHEMA)
    with (
        patch.object(steps, "SLICE", 1 << 16),
        patch.object(steps, "FEW", 1),
        patch.object(charging_module, "_TICK", 0.0),
    ):
        charging = Charging(index, str(desk))
        told = charging.tell

        def decide() -> None:
            told()
            write_left_out(desk, many)

        charging.tell = decide  # type: ignore[method-assign]
        with metered(charging):
            found = index.match([{"event_type": "sale", "title": LONG}])
    assert len(Desk(desk).taken()) < len(many)
    assert sorted(found.to_lists()[0]) == ["infix", "inner", "not"]


def test_patterns_that_are_slow_together_are_parted_until_each_pays_for_itself(desk: Path) -> None:
    slow = {f"slow{i}": f"title RLIKE 'a[ab]{{{30 + i}}}b[ab]{{40}}[0-9]'" for i in range(6)}
    quick = {f"quick{i}": f"title RLIKE '[xq]a+b{{1,{i + 1}}}'" for i in range(20)}
    taken, matched = charged(tamis.compile(slow | quick, SCHEMA), desk, {"event_type": "sale", "title": "qab" + RANDOM})
    assert slow.keys() <= taken.keys()
    assert min(taken[id] for id in slow) > max(taken.get(id, 0.0) for id in quick)
    assert matched == [sorted(quick)]


class Counted(Charging):
    """A meter that also counts how often it was told of patterns."""

    told = 0

    def took(self, patterns: PatternSet, numbers: Int32s, seconds: Floats) -> None:
        self.told += 1
        super().took(patterns, numbers, seconds)


@every_metered
@pytest.mark.parametrize("slow", [SLOW_LIKE, SLOW_RLIKE], ids=["LIKE", "RLIKE"])
def test_a_slow_pattern_that_nobody_holds_any_more_is_run_once_in_a_match_and_charged_to_nobody(
    slow: str, matcher: str, desk: Path
) -> None:
    index = tamis.compile(INNOCENT | {"gone": slow}, SCHEMA, matcher=matcher)
    index.remove("gone")
    charging = Counted(index, str(desk))
    with metered(charging):
        matched = []
        for end in "!?":
            matched += index.match([{"event_type": "sale", "title": LONG + end}]).to_lists()
            told, charging.told = charging.told, 0
    charging.tell()
    assert [sorted(ids) for ids in matched] == [["infix", "inner", "not"]] * 2
    assert told == 0, "the second time it is passed over"
    assert Desk(desk).taken() == {}


@pytest.mark.parametrize("options", [{}, {"general": True}, {"factor": ["price"]}], ids=str)
def test_a_tree_knows_who_holds_a_pattern_wherever_it_stands_in_it(options: dict[str, Any], desk: Path) -> None:
    both = {
        "path": f"price = 3 AND {SLOW_LIKE}",
        "second": f"title LIKE '%a%' AND {SLOW_LIKE}",
        "negated": f"NOT ({SLOW_LIKE})",
        "either": f"({SLOW_LIKE} OR price = 7) AND tags = 'x'",
    }
    index = tamis.compile(both | INNOCENT, SCHEMA, matcher="tree", options=options)
    taken, _ = charged(index, desk, {"event_type": "sale", "title": LONG, "price": 3})
    assert sorted(taken) == sorted(both)
    index.remove(["path", "either"])
    charging = Charging(index, str(desk))
    before = Desk(desk)
    before.taken()
    with metered(charging):
        index.match([{"event_type": "sale", "title": LONG + "!", "price": 3}])
    charging.tell()
    assert sorted(before.taken()) == ["negated", "second"]


@tamis.operator(time_limit=None)
def dear(price: int) -> bool:
    """A price that is a lot."""
    return price > 1


def calling(filters: Mapping[str, str], matcher: str = "columnar") -> tamis.Index:
    index = tamis.compile(filters, SCHEMA, matcher=matcher, operators=[dear])
    assert not index.errors
    return index


@every_metered
@pytest.mark.parametrize("slow", [SLOW_LIKE, SLOW_RLIKE], ids=["LIKE", "RLIKE"])
def test_whoever_calls_an_operator_beside_a_slow_pattern_is_charged_and_left_out_like_others(
    slow: str, matcher: str, desk: Path
) -> None:
    both = {"plain": f"price = 3 AND {slow}", "calls": f"price = 3 AND {slow} AND dear()"}
    index = calling({**INNOCENT, **both, "cheap": "title LIKE '%ab%' AND dear()"}, matcher)
    event = {"event_type": "sale", "title": LONG, "price": 3}
    assert sorted(charged(index, desk, event)[0]) == sorted(both)
    write_left_out(desk, both)
    before = Desk(desk)
    before.taken()
    charging = Counted(index, str(desk))
    with metered(charging):
        matched = index.match([event | {"title": LONG + "!"}]).to_lists()
    charging.tell()
    assert charging.told == 0
    assert before.taken() == {}
    assert sorted(matched[0]) == ["cheap", "infix", "inner", "not"]


def test_holders_of_a_pattern_beside_calls_pay_in_equal_parts_however_many_cases_they_have(desk: Path) -> None:
    index = calling(
        {
            "one": f"{SLOW_LIKE} AND dear()",
            "cases": f"{SLOW_LIKE} AND (dear() OR price = 7 AND NOT dear() OR tags = 'x' AND dear())",
            "gone": f"{SLOW_LIKE} AND NOT dear()",
        }
    )
    index.remove("gone")
    index.add({"late": f"NOT ({SLOW_LIKE}) AND dear()"})
    taken, matched = charged(index, desk, {"event_type": "sale", "title": LONG, "price": 3})
    assert sorted(taken) == ["cases", "late", "one"]
    # The late one is in a level of its own.
    assert taken["one"] == pytest.approx(taken["cases"])
    assert matched == [["late"]]


def test_a_matcher_that_cannot_tell_who_holds_a_pattern_says_so(desk: Path) -> None:
    with pytest.raises(PipelineError, match="the matcher 'naive' does not tell whose slow patterns take how long"):
        Charging(tamis.compile(INNOCENT, SCHEMA, matcher="naive"), str(desk))
