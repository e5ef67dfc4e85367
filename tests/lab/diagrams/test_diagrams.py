"""Diagrams share what conjunctions have in common from the bottom up, and give back what nobody uses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.lab.diagrams.diagrams import DEAD, TRUE, Diagrams
from tamis.lab.diagrams.matcher import MbdMatcher
from tamis.workloads import named

_CHAINS = st.lists(st.integers(0, 5), max_size=4, unique=True).map(lambda chain: tuple(sorted(chain)))


def test_conjunctions_with_the_same_bottom_share_it() -> None:
    diagrams = Diagrams()
    first, second = diagrams.add((1, 2, 3)), diagrams.add((1, 2, 4))
    assert first != second
    assert diagrams.children[first] == diagrams.children[second]
    assert len(diagrams) == 1 + 4
    assert diagrams.add((1, 2)) == diagrams.children[first]
    assert diagrams.add(()) == TRUE
    assert len(diagrams) == 1 + 4


@given(st.lists(st.tuples(_CHAINS, st.booleans()), max_size=60))
def test_what_is_used_stays_and_what_is_not_goes(steps: list[tuple[tuple[int, ...], bool]]) -> None:
    diagrams = Diagrams()
    roots: list[tuple[tuple[int, ...], int]] = []
    for chain, remove in steps:
        if remove and roots:
            _, root = roots.pop(len(chain) % len(roots))
            moved = diagrams.drop(root)
            if moved is not None:
                roots = [(each, int(moved[node])) for each, node in roots]
        else:
            roots.append((chain, diagrams.add(chain)))
    for chain, root in roots:
        assert _chain(diagrams, root) == chain
    suffixes = {chain[:k] for chain, _ in roots for k in range(1, len(chain) + 1)}
    assert len(diagrams) == 1 + len(suffixes)


def test_garbage_is_collected_once_it_is_the_larger_part() -> None:
    diagrams = Diagrams()
    roots = {k: diagrams.add((0, k)) for k in range(1, 5000)}
    moves = 0
    for k in range(1, 4990):
        moved = diagrams.drop(roots.pop(k))
        if moved is not None:
            moves += 1
            roots = {each: int(moved[node]) for each, node in roots.items()}
    assert moves
    assert diagrams.end < 3000
    assert len(diagrams) == 1 + 1 + 10
    assert all(_chain(diagrams, root) == (0, k) for k, root in roots.items())
    assert diagrams.add((0, 4995)) == roots[4995]


def _chain(diagrams: Diagrams, node: int) -> tuple[int, ...]:
    found: list[int] = []
    while node != TRUE:
        variable: Any = diagrams.variables[node]
        assert variable != DEAD
        assert diagrams.children[node] < node
        found.append(int(variable))
        node = int(diagrams.children[node])
    return tuple(reversed(found))


def test_an_event_evaluates_every_node_once_and_every_predicate_at_most_once() -> None:
    workload = named("padres_sets")(3000, 40)
    index = tamis.compile(workload.subscriptions, workload.schema, matcher="mbd")
    work = index.match(workload.events).work
    predicates, diagrams = _parts(index)
    nodes = len(diagrams.variables) - 1
    assert work.nodes == 40 * nodes
    assert nodes < 2 * 3000
    assert work.predicates <= 40 * len(predicates.bounds)


def test_what_is_asked_of_often_and_by_few_predicates_is_at_the_bottom() -> None:
    schema = tamis.Schema.from_dict({"attributes": {"a": "integer", "z": "integer"}, "event_types": {
        "one": {"a": "optional", "z": "optional"}}})  # fmt: skip
    for rare, common in (("a", "z"), ("z", "a")):
        texts = {f"s{k}": f"{rare} = {k} AND {common} = {k % 2}" for k in range(100)}
        index = tamis.compile(texts, schema, matcher="mbd")
        assert len(_parts(index)[1].variables) - 1 == 100 + 2


def test_an_order_can_be_given() -> None:
    schema = tamis.Schema.from_dict({"attributes": {"a": "integer", "z": "integer"}, "event_types": {
        "one": {"a": "optional", "z": "optional"}}})  # fmt: skip
    texts = {f"s{k}": f"a = {k} AND z = {k % 2}" for k in range(100)}
    counts = {}
    for order in (["a", "z"], ["z", "a"], "a", "z"):
        index = tamis.compile(texts, schema, matcher="mbd", options={"order": order})
        counts[str(order)] = len(_parts(index)[1].variables) - 1
        index.add({f"t{k}": f"a = {k} AND z = 5" for k in range(100)})
        assert len(index.match([{"a": 3, "z": 5}])) == 1
    assert list(counts.values()) == [102, 200, 200, 102]
    with pytest.raises(tamis.TamisError, match="no attribute 'b'"):
        tamis.compile(texts, schema, matcher="mbd", options={"order": ["b"]})
    with pytest.raises(tamis.TamisError, match="no option 'height'"):
        tamis.compile(texts, schema, matcher="mbd", options={"height": 3})
    with pytest.raises(tamis.TamisError, match="nothing that the option"):
        tamis.compile(texts, schema, matcher="mbd", options={"order": 3})


def _parts(index: tamis.Index) -> Any:
    assert isinstance(index.matcher, MbdMatcher)
    return index.matcher._levels[0]._own
