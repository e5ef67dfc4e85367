"""Covering by diagrams looks at no more nodes than the paper's early stops leave (Fig 7)."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.lab.diagrams import DiagramRows
from tamis.lab.diagrams.dependencies import EVALUATED
from tamis.routing.standing.predicate_index import PredicateIndex
from tests.routing.covering.small_worlds import SCHEMA, normal

STANDING = ["i > 0", *(f"s = '{letter}'" for letter in "abcdefgh")]


def related(text: str, *, once: bool, standing: list[str] = STANDING) -> tuple[list[int], list[int], int]:
    """Who covers it, whom it covers, and how many nodes were looked at."""
    index = PredicateIndex(SCHEMA)
    rows = DiagramRows(index)
    for owner, each in enumerate(standing):
        terms = index.enter(normal(each).conjuncts[0])
        assert terms is not None
        rows.assign(terms)  # as a table does, which asks before it adds
        rows.add(owner, terms, alone=True)
    asked = index.enter(normal(text).conjuncts[0])
    assert asked is not None
    covering, covered = rows.relate(asked, once=once)
    return covering[:, 0].tolist(), covered[:, 0].tolist(), int(np.asarray(rows._relating._work)[EVALUATED])


def test_the_first_that_covers_ends_the_pass() -> None:
    assert related("i = 3", once=True) == ([0], [], 1)
    assert related("i = 3", once=False) == ([0], [], len(STANDING))


def test_what_nobody_covers_is_held_against_every_node() -> None:
    assert related("f = 1.5", once=True) == ([], [], len(STANDING))


@pytest.mark.parametrize(("once", "covering"), [(True, []), (False, [1])])
def test_once_something_is_covered_nobody_is_looked_for_that_covers(once: bool, covering: list[int]) -> None:
    """Of filters none of which covers another, no one is above what another one is below."""
    assert related("i > 0", once=once, standing=["i = 3", "i > -1"])[:2] == (covering, [0])
