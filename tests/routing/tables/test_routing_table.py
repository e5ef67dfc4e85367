"""Routing tables: whatever happened to them, they are what they would be if it had just been told."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.errors import FilterError
from tamis.routing.merging import MergePolicy
from tamis.routing.tables import POLICIES, RoutingTable, intersects, policy, read_filter
from tests.broker.histories import SCHEMA, filter_text
from tests.generated import cases

_HOPS = ("link:a", "link:b", "client:c", "client:d")
_TARGETS = ("link:a", "link:b")


def _table(name: str, gated: bool) -> RoutingTable:
    table = RoutingTable(SCHEMA, policy(name, MergePolicy(every=2)), gated=gated)
    for target in _TARGETS:
        table.add_target(target)
    return table


def _fresh(name: str, rows: dict[str, list[str]], gates: dict[str, list[str]] | None) -> RoutingTable:
    table = RoutingTable(SCHEMA, policy(name, MergePolicy(every=2)), gated=gates is not None)
    for hop, texts in rows.items():
        table.change(hop, [read_filter(text, SCHEMA) for text in texts], ())
    for target in _TARGETS:
        table.add_target(target, [read_filter(text, SCHEMA) for text in (gates or {}).get(target, ())])
    return table


@settings(max_examples=cases(40), deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(["simple", "covering"]), st.booleans())
def test_a_table_is_what_it_would_be_if_built_afresh(seed: int, name: str, gated: bool) -> None:
    random = Random(seed)
    table = _table(name, gated)
    rows: dict[str, list[str]] = {hop: [] for hop in _HOPS}
    gates: dict[str, list[str]] = {target: [] for target in _TARGETS}
    known: dict[str, set[str]] = {target: set() for target in _TARGETS}
    for _ in range(40):
        hop = random.choice(_HOPS)
        if gated and random.random() < 0.25:
            target = random.choice(_TARGETS)
            if gates[target] and random.random() < 0.5:
                text = gates[target].pop(random.randrange(len(gates[target])))
                told = {target: table.open_gates(target, (), [text])}
            else:
                new = read_filter(filter_text(random, weak=True), SCHEMA)
                if new.text in gates[target]:
                    continue
                gates[target].append(new.text)
                told = {target: table.open_gates(target, [new], ())}
        elif rows[hop] and random.random() < 0.4:
            told = table.change(hop, (), [rows[hop].pop(random.randrange(len(rows[hop])))])
        else:
            filter = read_filter(filter_text(random), SCHEMA)
            rows[hop].append(filter.text)
            told = table.change(hop, [filter], ())
        for target, change in told.items():
            assert not {filter.text for filter in change.added} & known[target]
            assert set(change.removed) <= known[target]
            known[target] = (known[target] | {filter.text for filter in change.added}) - set(change.removed)
    fresh = _fresh(name, rows, gates if gated else None)
    for target in _TARGETS:
        assert known[target] == set(table.forwarded(target)) == set(fresh.forwarded(target))
        assert table.forwarded_digest(target) == fresh.forwarded_digest(target)
    for hop in _HOPS:
        assert table.rows(hop) == fresh.rows(hop) == sorted(set(rows[hop]))
        assert table.digest(hop) == fresh.digest(hop)


@settings(max_examples=cases(25), deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(POLICIES))
def test_what_is_forwarded_matches_all_that_was_asked_for_and_by_perfect_rules_nothing_else(
    seed: int, name: str
) -> None:
    random = Random(seed)
    table = _table(name, gated=False)
    texts: list[str] = []
    for _ in range(30):
        if texts and random.random() < 0.3:
            table.change("client:c", (), [texts.pop(random.randrange(len(texts)))])
        else:
            filter = read_filter(filter_text(random), SCHEMA)
            texts.append(filter.text)
            table.change("client:c", [filter], ())
    events = [
        {"serial": 1, "price": price, "size": size, "kind": kind}
        for price in range(-1, 13)
        for size in range(6)
        for kind in ("bed", "chair", "clock", "desk", "other")
    ]
    asked, told = (
        tamis.compile({str(k): text for k, text in enumerate(some)}, SCHEMA).match(events).counts > 0
        for some in (texts, table.forwarded("link:a"))
    )
    assert (asked == told).all()


def test_a_subscription_follows_only_advertisements_that_it_intersects() -> None:
    table = RoutingTable(SCHEMA, policy("covering"), gated=True)
    cheap, dear = read_filter("price < 5", SCHEMA), read_filter("price > 10", SCHEMA)
    table.add_target("link:a", [cheap])
    assert not table.change("client:c", [dear], ())
    told = table.open_gates("link:a", [read_filter("price > 8 AND kind = 'bed'", SCHEMA)], ())
    assert [filter.text for filter in told.added] == [dear.text]
    told = table.open_gates("link:a", (), [read_filter("price > 8 AND kind = 'bed'", SCHEMA).text])
    assert told.removed == (dear.text,)


def test_removing_a_filter_brings_what_it_covered_in_the_same_change() -> None:
    table = _table("covering", gated=False)
    wide, narrow = read_filter("price < 10", SCHEMA), read_filter("price < 5", SCHEMA)
    table.change("client:c", [wide, narrow], ())
    told = table.change("client:c", (), [wide.text])["link:a"]
    assert [filter.text for filter in told.added] == [narrow.text]
    assert told.removed == (wide.text,)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("price < 5", "price > 5", False),
        ("price <= 5", "price >= 5", True),
        ("kind IN ('bed', 'desk')", "kind = 'clock'", False),
        ("TRUE", "price = 1", True),
        ("TRUE", "price = 1 AND price = 2", False),
        ("price < 5 OR size > 2", "price > 5 AND size = 3", True),
        ("kind LIKE 'b%'", "kind = 'bed'", True),
        ("price IS NULL", "price > 1", False),
    ],
)
def test_filters_intersect_unless_no_event_satisfies_both(one: str, other: str, expected: bool) -> None:
    a, b = (read_filter(text, SCHEMA).form for text in (one, other))
    assert intersects(a, b, SCHEMA) == intersects(b, a, SCHEMA) == expected


def test_what_is_no_filter_is_refused() -> None:
    with pytest.raises(FilterError):
        read_filter("prize < 5", SCHEMA)
