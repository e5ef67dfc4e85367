"""The tree's own form: what it shares, what implies what, and what is left when subscriptions go."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tamis
from tamis.errors import TamisError
from tamis.lab.tree.layout import (
    ANNOTATED,
    COUNT,
    EDGE,
    IN_RANGES,
    KIDS,
    LEAF,
    LEVEL,
    NEXT,
    NONE,
    STAR,
    SUCCESSOR,
    find,
)
from tamis.lab.tree.matcher import TreeMatcher
from tamis.lab.tree.tree import Tree, TreeOptions
from tamis.schema import Schema
from tamis.testing import Generated, reference_matches, workloads
from tamis.workloads import named
from tamis.workloads.papers import gryphon
from tests.generated import cases
from tests.lab.tree.subject import EVERY_WAY, answers, bound, grown, matches, subscriptions_of

SCHEMA = Schema.from_dict(
    {
        "attributes": {"a": "integer", "b": "integer", "c": "string"},
        "event_types": {"event": {"a": "optional", "b": "optional", "c": "optional"}},
    }
)
every_way = pytest.mark.parametrize("options", EVERY_WAY, ids=str)


def test_subscriptions_share_the_tests_they_have_in_common() -> None:
    tree = grown({"s": "a = 1 AND b = 2", "t": "a = 1 AND b = 3", "u": "a = 1 AND b = 2"}, SCHEMA, TreeOptions()).tree
    assert tree.count == 4  # a, b, and two leaves
    assert tree.edges == 3


def test_what_can_never_match_goes_without_taking_others_along() -> None:
    texts = {f"s{k}": f"a = {k}" for k in range(64)} | {f"never{k}": "a < 1 AND a > 2" for k in range(200)}
    matcher = grown(texts, SCHEMA, TreeOptions())
    matcher.remove([id for id in texts if id.startswith("never")])
    assert len(matcher) == 64
    assert answers(matcher, [{"a": k} for k in range(64)], SCHEMA) == [[f"s{k}"] for k in range(64)]


def test_a_node_with_nothing_but_a_star_is_left_out() -> None:
    texts = {"s": "a = 1 AND c = 'x'", "t": "a = 1 AND b = 2", "u": "a = 2"}
    assert grown(texts, SCHEMA, TreeOptions()).tree.count == 6
    assert grown(texts, SCHEMA, TreeOptions(collapse=False)).tree.count == 9


def test_an_event_outside_a_range_does_not_come_to_the_ranges_inside_it() -> None:
    texts = {f"s{k}": f"a < {k}" for k in (100, 50, 20, 10)}
    nested = matches(grown(texts, SCHEMA, TreeOptions()), [{"a": 200}], SCHEMA)
    flat = matches(grown(texts, SCHEMA, TreeOptions(related="none")), [{"a": 200}], SCHEMA)
    assert (nested.work.predicates, flat.work.predicates) == (1, 4)


def test_an_event_outside_a_range_does_not_come_to_the_equalities_that_imply_it() -> None:
    texts = {"s": "a < 100", **{f"t{k}": f"a = {k} AND b = 1" for k in range(10)}}
    around = grown(texts, SCHEMA, TreeOptions(related="all"))
    for value, visited in ((200, 2), (5, 6)):
        found = matches(around, [{"a": value, "b": 1}], SCHEMA)
        assert found.work.nodes == visited
        assert answers(around, [{"a": value, "b": 1}], SCHEMA) == [["s", "t5"] if value == 5 else []]


def test_a_general_tree_has_a_node_for_every_test() -> None:
    texts = {"s": "a = 1 AND b != 2", "t": "a = 1 AND b != 2 AND c > 'x'", "u": "a = 1 AND c > 'x'", "v": "a = 1"}
    at_leaves, general = (grown(texts, SCHEMA, TreeOptions(general=general)) for general in (False, True))
    assert at_leaves.tree.count == 3 + 2  # a, b, that b is present; a leaf with b and one without
    # Besides: b != 2; and c > 'x' twice, with b and without, with two leaves each.
    assert general.tree.count == 3 + 1 + 2 * 3
    event = [{"a": 1, "b": 3, "c": "y"}]
    for matcher in (at_leaves, general):
        found = matches(matcher, event, SCHEMA)
        assert answers(matcher, event, SCHEMA) == [["s", "t", "u", "v"]]
        assert found.work.predicates == 4  # a = 1, b is present, b != 2, c > 'x'


def test_a_general_tree_stops_where_a_test_fails() -> None:
    texts = {f"s{k}": f"a != 1 AND b = {k % 3} AND c LIKE '%{k}%' AND c > 'k'" for k in range(60)}
    at_leaves, general = (grown(texts, SCHEMA, TreeOptions(general=general)) for general in (False, True))
    event = [{"a": 2, "b": 1, "c": "j 4"}]
    assert matches(at_leaves, event, SCHEMA).work.candidates > 0
    assert matches(general, event, SCHEMA).work.candidates == 0


@every_way
def test_what_is_removed_leaves_nothing_behind(options: TreeOptions) -> None:
    workload = named("w1")(subscriptions=600, events=1, seed=2)
    ids, texts = (workload.subscriptions[name].to_pylist() for name in ("id", "filter"))
    every = dict(zip(ids, texts, strict=True))
    matcher = grown({id: every[id] for id in ids[:300]}, workload.schema, options)
    before = matcher.tree.count, matcher.tree.edges
    matcher.add(bound({id: every[id] for id in ids[300:]}, workload.schema))
    gone = ids[300:]
    random.Random(1).shuffle(gone)
    matcher.remove(gone)
    if options.related == "none":
        assert (matcher.tree.count, matcher.tree.edges) == before
    matcher.remove(ids[:300])
    assert (matcher.tree.count, matcher.tree.edges, len(matcher)) == (0, 0, 0)


def test_numbers_and_nodes_of_those_that_left_are_given_again() -> None:
    workload = named("w2")(subscriptions=500, events=1, seed=2)
    matcher = TreeMatcher.build(subscriptions_of(workload), workload.schema)
    held = matcher.bytes_held
    ids = workload.subscriptions["id"].to_pylist()
    for _ in range(20):
        matcher.remove(ids)
        matcher.add(subscriptions_of(workload))
    assert matcher.bytes_held <= 2 * held


@every_way
@settings(max_examples=cases(40))
@given(workload=workloads())
def test_every_way_agrees_with_the_oracle_after_changes(options: TreeOptions, workload: Generated) -> None:
    ids = list(workload.subscriptions)
    matcher = grown(workload.subscriptions, workload.schema, options)
    again = bound({f"again {id}": text for id, text in workload.subscriptions.items()}, workload.schema)
    matcher.add(again)
    gone = [id for id in ids[::2] if id in matcher]
    matcher.remove(gone)
    kept = {id: text for id, text in workload.subscriptions.items() if id in matcher}
    kept |= {f"again {id}": text for id, text in workload.subscriptions.items() if f"again {id}" in matcher}
    assert answers(matcher, workload.events, workload.schema) == reference_matches(
        kept, workload.schema, workload.events
    )


def test_successors_stay_right_while_subscriptions_come_and_go() -> None:
    workload = gryphon(3000, 1, attributes=6, values=3)
    ids, texts = (workload.subscriptions[name].to_pylist() for name in ("id", "filter"))
    matcher, rng = grown({}, workload.schema, TreeOptions()), random.Random(4)
    here: set[str] = set()
    for step in range(60):
        some = dict(rng.sample(list(zip(ids, texts, strict=True)), 40))
        matcher.remove(some.keys() & here)
        matcher.add(bound({id: some[id] for id in some.keys() - here}, workload.schema))
        here ^= some.keys()
        if step % 10 == 0:
            assert _wrong_successors(matcher.tree) == []


def _wrong_successors(tree: Tree) -> list[int]:
    """Nodes whose successor is not what lies behind the same value of their parent's star sibling."""
    nodes, wrong = tree.nodes, list[int]()
    for node in np.flatnonzero((nodes[:, LEVEL] >= 0) & (nodes[:, LEVEL] != LEAF) & (nodes[:, EDGE] != IN_RANGES)):
        star = nodes[node, STAR]
        for child in _kids(tree, int(node)) if nodes[node, ANNOTATED] and star != NONE else ():
            if nodes[child, LEVEL] == nodes[star, LEVEL] != LEAF:
                behind = {
                    kid: find(tree.keys, tree.table, int(star), tree.bounds[kid, 0]) for kid in _kids(tree, child)
                }
                wrong += [kid for kid, successor in behind.items() if nodes[kid, SUCCESSOR] != successor]
    return wrong


def _kids(tree: Tree, node: int) -> list[int]:
    found, kid = [], int(tree.nodes[node, KIDS])
    while kid != NONE:
        found.append(kid)
        kid = int(tree.nodes[kid, NEXT])
    assert len(found) == tree.nodes[node, COUNT]
    return found


@pytest.mark.parametrize("factor", [("a0",), ("a0", "a1"), ("a2", "a0")])
def test_trees_by_index_attributes_agree_with_the_oracle_and_keep_up(factor: tuple[str, ...], tmp_path: Path) -> None:
    workload = gryphon(400, 30, attributes=6, values=4)
    ids, texts = (workload.subscriptions[name].to_pylist() for name in ("id", "filter"))
    every = dict(zip(ids, texts, strict=True))
    matcher = grown({id: every[id] for id in ids[:5]}, workload.schema, TreeOptions(factor=factor))
    for start in range(5, 400, 79):
        matcher.add(bound({id: every[id] for id in ids[start : start + 79]}, workload.schema))
    matcher.remove(ids[100:200])
    kept = {id: text for id, text in every.items() if id not in set(ids[100:200])}
    expected = reference_matches(kept, workload.schema, workload.events)
    assert answers(matcher, workload.events, workload.schema) == expected
    assert len(matcher.tree.roots) == 5 ** len(factor)
    matcher.save(tmp_path)
    assert answers(TreeMatcher.open(tmp_path, workload.schema), workload.events, workload.schema) == expected


@pytest.mark.parametrize("general", [False, True])
def test_what_an_index_attribute_leaves_open_stands_in_the_trees_of_its_values(general: bool) -> None:
    texts: dict[str, str] = {f"s{k}": f"a = {k} AND b != 2" for k in range(4)}
    texts |= {"range": "a >= 2", "open": "b = 1", "list": "a IN (1, 9)", "not": "c > 'k' AND a != 2"}
    matcher = grown(texts, SCHEMA, TreeOptions(factor=("a",), general=general))
    late = {"late": "a = 9 AND b = 1", "later": "a = 11 AND NOT (c > 'k')"}
    matcher.add(bound(late, SCHEMA))
    events: list[dict[str, Any]] = [{"a": k, "b": 1, "c": c} for k in (0, 2, 7, 9, 11) for c in "kl"] + [{"b": 1}]
    assert answers(matcher, events, SCHEMA) == reference_matches(texts | late, SCHEMA, events)
    matcher.remove(["not", "s1", "late", "range"])
    for id in ("not", "s1", "range"):
        del texts[id]
    expected = reference_matches(texts | {"later": late["later"]}, SCHEMA, events)
    assert answers(matcher, events, SCHEMA) == expected


def test_options_are_given_by_name_to_compile() -> None:
    index = tamis.compile({"s": "a = 1"}, SCHEMA, matcher="tree", options={"collapse": False, "factor": ["a", "b"]})
    assert isinstance(index.matcher, TreeMatcher)
    assert index.matcher.tree.options == TreeOptions(collapse=False, factor=("a", "b"))
    assert index.match([{"a": 1}]).to_lists() == [["s"]]


@pytest.mark.parametrize(
    ("matcher", "options", "said"),
    [
        ("tree", {"colapse": False}, "collapse"),
        ("tree", {"related": "both"}, "both"),
        ("tree", {"general": 1}, "general"),
        ("columnar", {"collapse": False}, "no options"),
    ],
)
def test_options_that_there_are_not_are_refused(matcher: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(TamisError, match=said):
        tamis.compile({"s": "a = 1"}, SCHEMA, matcher=matcher, options=options)


def test_only_single_valued_attributes_of_the_schema_are_index_attributes() -> None:
    with pytest.raises(TamisError, match="nothing"):
        grown({}, SCHEMA, TreeOptions(factor=("nothing",)))
