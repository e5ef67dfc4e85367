"""What made a subscription match is what an explanation says of its first alternative that holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.language import DEFAULT_LIMITS, Limits, Tree, normalise, parse
from tamis.language.predicates import Literal
from tamis.matching.conditions import Evaluator, evaluator_of
from tamis.matching.explanation import explain
from tamis.schema import Schema
from tamis.service.base.offering import Offering, serving_schema
from tamis.service.delivery.matched import Matched, OpenedEvent
from tamis.service.store import Store, Subscription
from tamis.service.store.store import FollowedSchema
from tests.service.city import ALL, CITY, shot
from tests.service.delivery.made import LATER, NOON, SCHEMA, subscribed

FILTERS = [
    "TRUE",
    "price < 10",
    "price BETWEEN 1 AND 5 AND title = 'x'",
    "n IN (1, 2) OR price > 100 OR tags = 'red'",
    "NOT (n > 3) AND title LIKE 'a%'",
    "tags != 'red' AND title IS NULL",
    "title RLIKE '^[ab]+$' OR event_type = 'antiques'",
    "opened > TIMESTAMP '2024-05-01T00:00:00Z'",
    "ce.type = 'antiques' OR ce.source LIKE '/%'",
]
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "price": st.sampled_from([0, 3.5, 9.99, 10, 200]),
        "n": st.integers(0, 5),
        "title": st.sampled_from(["x", "ab", "a%", ""]),
        "tags": st.lists(st.sampled_from(["red", "blue"]), max_size=2),
        "opened": st.sampled_from(["2024-05-01T10:00:00Z", "2023-01-01"]),
        "ce": st.fixed_dictionaries({"type": st.just("antiques"), "source": st.sampled_from(["/a", "b"])}),
        "unknown": st.sampled_from([None, 3, {"deep": [1]}]),
    },
)


class _Schemas:
    """A store that has one schema, as far as delivery asks."""

    def __init__(self, form: dict[str, Any]) -> None:
        self.form, self.version = form, 1
        self.schemas = self

    def newest(self) -> int:
        return self.version

    def current(self) -> tuple[int, dict[str, Any]]:
        return self.version, self.form


def _subscription(filter: str, **fields: Any) -> Subscription:
    given: dict[str, Any] = {"number": 1, "id": "sub_x", "owner": "", "label": "", "kind": "filter", "text": filter}
    given |= {"dialect": "tamis", "filter": filter, "residual": None, "delivery": {"mode": "pull"}, "state": "active"}
    given |= {"created": NOON, "expires": LATER, "revision": 1}
    return Subscription(**given | fields)


def _matched(form: dict[str, Any] = SCHEMA, limits: Limits = DEFAULT_LIMITS) -> Matched:
    store: Any = _Schemas(form)
    return Matched(FollowedSchema(store), limits)


MATCHED = _matched()


@pytest.mark.parametrize("filter", FILTERS)
@given(event=EVENTS)
def test_agrees_with_the_explanation(filter: str, event: dict[str, Any]) -> None:
    found = MATCHED.conditions(_subscription(filter), OpenedEvent(1, "evt", NOON, json.dumps(event)))
    explained = explain(filter, event, serving_schema(Schema.from_dict(SCHEMA)))
    held = [alternative for alternative in explained.alternatives if all(v.state == "held" for v in alternative)]
    assert [one["condition"] for one in found] == ([verdict.condition for verdict in held[0]] if held else [])
    for one, verdict in zip(found, held[0] if held else (), strict=True):
        if "opened" not in verdict.values:
            assert one["values"] == verdict.values


def test_each_distinct_condition_is_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Literal] = []

    def counting(literal: Literal, schema: Schema) -> Evaluator:
        def holds(*values: Any) -> bool:
            asked.append(literal)
            return evaluator_of(literal, schema)(*values)

        return holds

    monkeypatch.setattr("tamis.matching.conditions.evaluator_of", counting)
    clauses = [f"(title LIKE '%a{k}%' OR title LIKE '%b{k}%')" for k in range(6)]
    filter = " AND ".join(clauses)
    title = "".join(f"b{k}" for k in range(6))
    found = _matched().conditions(_subscription(filter), OpenedEvent(1, "evt", NOON, json.dumps({"title": title})))
    assert len(found) == 6
    assert len(asked) == len(set(asked)) <= 12


def test_of_conditions_beyond_all_measure_the_first_are_listed() -> None:
    filter = " AND ".join(f"title LIKE '%{k}{'a_' * 400}%'" for k in range(100))
    title = "".join(f"{k}{'ab' * 400}" for k in range(100))
    found = _matched(limits=Limits(text=100_000)).conditions(
        _subscription(filter), OpenedEvent(1, "evt", NOON, json.dumps({"title": title}))
    )
    assert (len(found), found[-1]) == (72, {"condition": "… and 29 more", "values": {}})


def test_timestamps_are_shown_as_such() -> None:
    event = OpenedEvent(1, "evt", NOON, '{"opened": "2024-05-01T10:00:00+02:00"}')
    (found,) = MATCHED.conditions(_subscription("opened > TIMESTAMP '2024-05-01T00:00:00Z'"), event)
    assert [value.isoformat() for value in found["values"]["opened"]] == ["2024-05-01T08:00:00+00:00"]


def test_a_filter_that_no_longer_holds_says_nothing() -> None:
    assert MATCHED.conditions(_subscription("price < 10"), OpenedEvent(1, "evt", NOON, '{"price": 11}')) == []


def test_cloudevents_filters_are_given_as_they_were_written() -> None:
    text = '[{"exact": {"type": "a"}}, {"sql": "x = 1"}]'
    subscription = _subscription("TRUE", text=text, dialect="cloudevents")
    assert MATCHED.conditions(subscription, OpenedEvent(1, "evt", NOON, "{}")) == json.loads(text)


def test_a_filter_on_what_an_extension_brought_is_understood() -> None:
    store: Any = _Schemas(SCHEMA)
    matched = Matched(FollowedSchema(store), DEFAULT_LIMITS)
    assert matched.conditions(_subscription("price < 10"), OpenedEvent(1, "evt", NOON, '{"price": 1}'))
    extended = Schema.from_dict(SCHEMA).extend(
        attributes={"colour": "string"}, optional={"antiques": {"colour": "optional"}}
    )
    store.form, store.version = extended.to_dict(), 2
    found = matched.conditions(_subscription("colour = 'red'"), OpenedEvent(1, "evt", NOON, '{"colour": "red"}'))
    assert found == [{"condition": "colour = 'red'", "values": {"colour": ["red"]}}]


def test_a_filter_that_was_read_when_it_was_taken_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store: Any = _Schemas(SCHEMA)
    followed = FollowedSchema(store)
    matched = Matched(followed, DEFAULT_LIMITS)
    text = "price < 10 OR title = 'x'"
    matched.remember(text, normalise(parse(text, followed.schema), followed.schema), followed.schema)
    monkeypatch.setattr("tamis.service.delivery.matched.parse", lambda *_: pytest.fail("it is read again"))
    for event in ('{"price": 1}', '{"price": 2}'):
        (found,) = matched.conditions(_subscription(text), OpenedEvent(1, "evt", NOON, event))
        assert found["condition"] == "price < 10"


def test_a_filter_that_was_read_under_an_older_schema_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store: Any = _Schemas(SCHEMA)
    followed = FollowedSchema(store)
    matched = Matched(followed, DEFAULT_LIMITS)
    older, text = followed.schema, "event_type != 'antiques'"
    store.form = Schema.from_dict(SCHEMA).extend(event_types={"lots": {"price": "optional"}}).to_dict()
    store.version = 2
    followed.refresh()
    read: list[str] = []

    def counting(text: str, *rest: Any) -> Tree:
        read.append(text)
        return parse(text, *rest)

    monkeypatch.setattr("tamis.service.delivery.matched.parse", counting)
    matched.remember(text, normalise(parse(text, older), older), older)
    for _ in range(2):
        assert matched.conditions(_subscription(text), OpenedEvent(1, "evt", NOON, '{"event_type": ["lots"]}'))
    assert read == [text]


def test_a_filter_that_nobody_understands_does_not_stop_delivery() -> None:
    assert MATCHED.conditions(_subscription("colour = 'red'"), OpenedEvent(1, "evt", NOON, "{}")) == []


def test_the_schema_is_the_stores(store: Store) -> None:
    store.schemas.add(SCHEMA)
    subscription = subscribed(store, "price < 10")
    found = Matched(FollowedSchema(store), DEFAULT_LIMITS).conditions(
        subscription, OpenedEvent(1, "evt", NOON, '{"price": 9.5}')
    )
    assert found == [{"condition": "price < 10", "values": {"price": [9.5]}}]


def _called(filter: str, bindings: str | None, **event: Any) -> list[Any]:
    store: Any = _Schemas(CITY)
    matched = Matched(FollowedSchema(store), DEFAULT_LIMITS, Offering(ALL))
    opened = OpenedEvent(1, "evt", NOON, json.dumps(shot(4, **event)))
    return matched.conditions(_subscription(filter, kind="operator"), opened, bindings)


def test_calls_and_constraints_are_shown_with_what_their_variables_were_bound_to() -> None:
    found = _called("price < 3 AND mob_pattern(?people) AND ?people > 3 AND loc_in('Bronx')", '{"people":4}', price=1)
    assert found == [
        {"condition": "price < 3", "values": {"price": [1.0]}},
        {"condition": "loc_in('Bronx')", "values": {}},
        {"condition": "mob_pattern(?people)", "values": {"?people": [4]}},
        {"condition": "?people > 3", "values": {"?people": [4]}},
    ]


def test_of_alternatives_that_may_all_have_held_only_what_they_share_is_shown() -> None:
    either = "price < 3 AND (mob_pattern(3) OR loc_in('Bronx'))"
    assert [one["condition"] for one in _called(either, None, price=1)] == ["price < 3"]
    certain = "mob_pattern(3) OR price < 3"
    assert [one["condition"] for one in _called(certain, None, price=1)] == ["price < 3"]
    assert [one["condition"] for one in _called(certain, None, price=9)] == ["mob_pattern(3)"]
    with_variable = "mob_pattern(?n) AND ?n > 3 OR loc_in('Bronx') OR price > 5 AND mob_pattern(9)"
    assert [one["condition"] for one in _called(with_variable, '{"n":4}', price=1)] == ["mob_pattern(?n)", "?n > 3"]
    assert [one["condition"] for one in _called(with_variable, None, price=1)] == ["loc_in('Bronx')"]


def test_an_operator_that_is_gone_does_not_stop_delivery() -> None:
    assert _called("nothing(3)", None) == []
