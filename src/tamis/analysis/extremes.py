"""Filters that match everything, and filters that match nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tamis.language import Filter
from tamis.routing.covering import covers
from tamis.routing.covering.facts.facts import Facts
from tamis.routing.covering.facts.kernels import ABSENT
from tamis.routing.covering.search.classes import Classes
from tamis.schema import EVENT_TYPE, Schema

Flags = npt.NDArray[np.bool_]

TRUE = Filter(((),))


def always_true(facts: Facts, classes: Classes, schema: Schema, filters: Callable[[int], Filter]) -> Flags:
    """Which classes every event matches that fits the schema.

    That is so where an alternative asks for nothing but attributes that every event type has. Of alternatives that only
    together leave nothing out, one asks for absence alone; of such classes the normal forms are looked at.
    """
    given = facts.allows_all & _mandatory(facts, schema)[facts.attributes]
    asks_nothing = _all_of(facts, given)
    of_class = _any_of(classes, asks_nothing)
    absent_only = _all_of(facts, facts.kinds == ABSENT)
    several = np.diff(classes.offsets) > 1
    for k in np.flatnonzero(_any_of(classes, absent_only) & several & ~of_class).tolist():
        of_class[k] = covers(filters(k), TRUE, schema)
    return of_class


def never_true(facts: Facts, classes: Classes, schema: Schema) -> Flags:
    """Which classes no event matches that fits the schema: each alternative wants absent what every event type has, or
    present what none has."""
    unknown = _unknown(facts, schema)[facts.attributes] & (facts.kinds != ABSENT)
    missing = _mandatory(facts, schema)[facts.attributes] & (facts.kinds == ABSENT)
    hopeless = ~_all_of(facts, ~(unknown | missing))
    return ~_any_of(classes, ~hopeless)


def _mandatory(facts: Facts, schema: Schema) -> Flags:
    """Which attributes every event type has for certain."""
    types = schema.event_types.values()
    return np.array(
        [
            name == EVENT_TYPE or all(name in t.annotations and t.annotations[name].mandatory for t in types)
            for name in facts.names
        ],
        np.bool_,
    )


def _unknown(facts: Facts, schema: Schema) -> Flags:
    """Which attributes no event type has."""
    types = schema.event_types.values()
    return np.array(
        [name != EVENT_TYPE and not any(name in t.annotations for t in types) for name in facts.names], np.bool_
    )


def _all_of(facts: Facts, flags: Flags) -> Flags:
    """Of which conjunctions all facts are so."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(flags)])
    return np.diff(ends[facts.offsets]) == np.diff(facts.offsets)


def _any_of(classes: Classes, flags: Flags) -> Flags:
    """Which classes have a conjunction that is so."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(flags[classes.members])])
    return np.diff(ends[classes.offsets]) > 0
