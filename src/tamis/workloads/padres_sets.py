"""The subscription sets of PADRES' evaluation (Li, Hou and Jacobsen, ICDCS 2005, §6), by the simplest reading.

The generator's details are lost from the text we have. Ours: exactly 2 of 20 attributes a subscription, `=` with
probability .97, else `<` or `>`, integers uniform on so many values. With 33 values (their set A: about 2,000 distinct
predicates) covering removes about three quarters of 200,000 subscriptions, with 83 (set B: about 5,000) not half.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.workloads.workload import Workload, numbered, single_type

ATTRIBUTES = 20
CONDITIONS = 2
EQUALITY = 0.97
SET_A, SET_B = 33, 83
PUBLISHED = 3

_EQUAL, _LESS, _GREATER = range(3)
_OPERATORS = pa.array([" = ", " < ", " > "])


def padres_sets(
    subscriptions: int,
    events: int,
    seed: int = 1,
    *,
    values: int = SET_A,
    published: int = PUBLISHED,
    conditions: int = CONDITIONS,
) -> Workload:
    """Set A unless `values` says otherwise; an event has `published` of the attributes, values uniform."""
    rng = np.random.default_rng(seed)
    words = [f"a{k}" for k in range(ATTRIBUTES)]
    attribute = np.sort(np.argsort(rng.random((subscriptions, ATTRIBUTES)), axis=1)[:, :conditions], axis=1)
    value = rng.integers(0, values, (subscriptions, conditions))
    unequal = np.where(rng.random((subscriptions, conditions)) < 0.5, _LESS, _GREATER)
    operator = np.where(rng.random((subscriptions, conditions)) < EQUALITY, _EQUAL, unequal)
    terms = [
        pc.binary_join_element_wise(
            pa.array(words).take(pa.array(attribute[:, k])),
            _OPERATORS.take(pa.array(operator[:, k])),
            pa.array(value[:, k]).cast(pa.string()),
            "",
        )
        for k in range(conditions)
    ]
    texts = pc.binary_join_element_wise(*terms, " AND ")
    here = np.argsort(rng.random((events, ATTRIBUTES)), axis=1).argsort(axis=1) < published
    drawn = rng.integers(0, values, (events, ATTRIBUTES))
    columns = {name: pa.array(drawn[:, k], mask=~here[:, k]) for k, name in enumerate(words)}
    schema = single_type(dict.fromkeys(words, "integer"))
    return Workload("padres_sets", schema, numbered(texts), pa.table(columns))
