"""Domains with listed values: positions, and what the order operators select."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import SchemaError
from tamis.schema import EnumeratedDomain, HierarchicalDomain, IntegerDomain, Schema
from tests.schema.cases import AUCTIONS

PERIOD, FURNITURE = AUCTIONS.domains["period"], AUCTIONS.domains["furniture"]


def test_kinds_of_a_node_are_a_run_of_the_values() -> None:
    assert isinstance(FURNITURE, HierarchicalDomain)
    assert FURNITURE.values == ("bedroom", "bed", "dining_room", "table", "chair")
    assert FURNITURE.satisfying("<", "dining_room") == (3, 4)
    assert FURNITURE.satisfying("<=", "dining_room") == (2, 3, 4)
    assert FURNITURE.satisfying(">", "chair") == (2,)
    assert FURNITURE.satisfying(">=", "bed") == (0, 1)
    assert FURNITURE.satisfying("<", "bed") == ()
    assert FURNITURE.position("chair") == 4
    assert FURNITURE.position("sofa") is None


def test_an_order_is_followed_transitively() -> None:
    assert isinstance(PERIOD, EnumeratedDomain)
    assert PERIOD.ordered
    assert PERIOD.satisfying("<", "XVIII") == (0, 1)
    assert PERIOD.satisfying(">=", "XVI") == (0, 1, 2)


def test_values_that_the_order_does_not_relate_are_not_comparable() -> None:
    diamond = EnumeratedDomain(("d", "b", "c", "a", "e"), (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")))
    assert diamond.satisfying("<", "d") == (1, 2, 3)
    assert diamond.satisfying("<", "b") == (3,)
    assert diamond.satisfying(">", "b") == (0,)
    assert diamond.satisfying("<=", "e") == (4,)


def test_an_unordered_domain_says_so() -> None:
    assert not EnumeratedDomain(("a", "b")).ordered


def test_unknown_values_and_operators_are_refused() -> None:
    with pytest.raises(SchemaError, match="has no value 'XX'; it has 'XVI', 'XVII', 'XVIII'"):
        PERIOD.satisfying("<", "XX")  # type: ignore[union-attr]
    with pytest.raises(SchemaError, match="no order operator"):
        PERIOD.satisfying("=", "XVI")  # type: ignore[union-attr]


def test_domains_compare_by_what_they_admit() -> None:
    assert IntegerDomain("cents") == IntegerDomain()
    assert EnumeratedDomain(("a",), name="x") == EnumeratedDomain(("a",), name="y")
    assert EnumeratedDomain(("a", "b")) != EnumeratedDomain(("a", "b"), (("a", "b"),))


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7))), st.permutations(range(8)))
def test_the_order_is_the_transitive_closure_or_has_a_cycle(pairs: set[tuple[int, int]], layout: list[int]) -> None:
    closure = set(pairs)
    for middle, first, last in itertools.product(range(8), repeat=3):
        if (first, middle) in closure and (middle, last) in closure:
            closure.add((first, last))
    values = tuple(map(str, layout))
    order = tuple((str(first), str(last)) for first, last in sorted(pairs))
    if any((value, value) in closure for value in range(8)):
        with pytest.raises(SchemaError, match="cycle"):
            EnumeratedDomain(values, order)
        return
    domain = EnumeratedDomain(values, order)
    for value in range(8):
        below = {values[position] for position in domain.satisfying("<", str(value))}
        above = {values[position] for position in domain.satisfying(">", str(value))}
        assert below == {str(first) for first, last in closure if last == value}
        assert above == {str(last) for first, last in closure if first == value}
        assert set(domain.satisfying("<=", str(value))) == {*domain.satisfying("<", str(value)), layout.index(value)}


@given(st.lists(st.integers(-1, 30), min_size=1, max_size=30))
def test_a_hierarchy_relates_exactly_ancestors_and_descendants(choices: list[int]) -> None:
    parents = [min(choice, node - 1) for node, choice in enumerate(choices)]
    children: list[dict[str, Any]] = [{} for _ in parents]
    roots: dict[str, Any] = {}
    for node, parent in enumerate(parents):
        (roots if parent < 0 else children[parent])[f"n{node}"] = children[node]
    schema = Schema.from_dict({"domains": {"d": {"type": "hierarchical", "tree": roots}}, "event_types": {"e": {}}})
    domain = schema.domains["d"]
    assert isinstance(domain, HierarchicalDomain)
    assert domain.tree() == roots
    above: list[set[int]] = []
    for parent in parents:
        above.append({parent, *above[parent]} if parent >= 0 else set())
    for node in range(len(parents)):
        below = {other for other in range(len(parents)) if node in above[other]}
        up = above[node]
        for operator, related in (("<", below), ("<=", below | {node}), (">", up), (">=", up | {node})):
            found = [domain.values[place] for place in domain.satisfying(operator, f"n{node}")]
            assert sorted(found) == sorted(f"n{other}" for other in related)
