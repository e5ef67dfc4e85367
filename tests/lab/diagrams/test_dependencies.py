"""The cache of dependencies is complete, and minimal, while predicates come and go."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.lab.diagrams.dependencies import Dependencies
from tamis.language import Filter
from tamis.routing.standing.predicate_index import PredicateIndex, Terms
from tests.generated import cases
from tests.routing.covering.small_worlds import SCHEMA, conditions, normal

_ONE = conditions(["i", "s", "e"]).map(normal).filter(lambda filter: len(filter.conjuncts) == 1)


@given(st.lists(st.tuples(_ONE, st.booleans()), max_size=25))
@settings(max_examples=cases(150))
def test_what_follows_is_found_by_the_fewest_edges(steps: list[tuple[Filter, bool]]) -> None:
    index = PredicateIndex(SCHEMA)
    dependencies = Dependencies(index)
    standing: list[Terms] = []
    for filter, remove in steps:
        if remove and standing:
            index.release(standing.pop(0))
            continue
        terms = index.enter(filter.conjuncts[0])
        if terms is None:
            continue
        for term in terms:
            dependencies.enter(term)
        standing.append(terms)
    terms_left = sorted({term for terms in standing for term in terms})
    for stamp, term in enumerate(terms_left, 1):
        left, right = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
        dependencies.assign(term, stamp, left, right)
        same = [other for other in terms_left if index.column(other) == index.column(term)]
        assert [o for o in same if right[o]] == [o for o in same if index.implies(term, o)]
        assert [o for o in same if left[o]] == [o for o in same if index.implies(o, term)]
    for term in terms_left:
        for other in dependencies.weaker(term):
            assert not any(_leads(dependencies, third, other) for third in dependencies.weaker(term) if third != other)


def _leads(dependencies: Dependencies, start: int, goal: int) -> bool:
    return start == goal or any(_leads(dependencies, each, goal) for each in dependencies.weaker(start))
