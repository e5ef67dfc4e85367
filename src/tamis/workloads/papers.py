"""Workloads of two papers: the matching tree's simulations (`gryphon`, PODC 1999, §7) and Le Subscribe's
(`le_subscribe`).

The digits of the set-up are lost from the text we have. Ours: 30 attributes of 5 values; the first is tested by 98 in
100 subscriptions, each next one by 0.85 times as many (6.5 tests a subscription); values in subscriptions follow
Zipf's law, values in events are uniform, and every event has every attribute. For factoring, the first attributes are
the ones that subscriptions rarely leave open (`index_attributes`).
"""

from __future__ import annotations

from itertools import combinations
from math import comb, log

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Bools, Int64s
from tamis.workloads.workload import Conditions, Workload, codes_as_strings, numbered, single_type, zipf

ATTRIBUTES, VALUES = 30, 5
POPULARITY, DECAY = 0.98, 0.85


def gryphon(
    subscriptions: int,
    events: int,
    seed: int = 1,
    *,
    attributes: int = ATTRIBUTES,
    values: int = VALUES,
    popularity: float = POPULARITY,
    decay: float = DECAY,
) -> Workload:
    """Attribute k is tested with probability `popularity * decay ** k`; a subscription may test none."""
    rng = np.random.default_rng(seed)
    tested = rng.random((subscriptions, attributes)) < popularity * decay ** np.arange(attributes)
    asked = zipf(rng, (subscriptions, attributes), values)
    return _workload("gryphon", asked, tested, events, values, rng)


def gryphon_hard(
    subscriptions: int, events: int, seed: int = 1, *, attributes: int = ATTRIBUTES, values: int = VALUES
) -> Workload:
    """Workload with as many tree nodes as can be where most events come: all subscriptions of no test, one, two, and so
    on.

    They are distinct; of the last number of tests, a random part. The proof of the bound takes the nodes in this order.
    """
    rng = np.random.default_rng(seed)
    asked, tested = np.zeros((subscriptions, attributes), np.int64), np.zeros((subscriptions, attributes), np.bool_)
    done = tests = 0
    while done < subscriptions:
        count = comb(attributes, tests) * values**tests
        if tests > attributes:
            raise ValueError(f"there are no {subscriptions} distinct subscriptions on {attributes} attributes")
        some = rng.choice(count, min(count, subscriptions - done), replace=False)
        places = np.array(list(combinations(range(attributes), tests)), np.int64).reshape(
            comb(attributes, tests), tests
        )
        chosen, digits = places[some // values**tests], some % values**tests
        rows = np.arange(done, done + len(some))
        for k in range(tests):
            tested[rows, chosen[:, k]] = True
            asked[rows, chosen[:, k]] = digits // values**k % values
        done, tests = done + len(some), tests + 1
    return _workload("gryphon_hard", asked, tested, events, values, rng)


def index_attributes(count: int) -> tuple[str, ...]:
    """Index attributes for factoring: those that fewest subscriptions leave open."""
    return tuple(f"a{k}" for k in range(count))


def visits_bound(subscriptions: int, attributes: int = ATTRIBUTES, values: int = VALUES) -> float:
    """Bound of the theorem: nodes that a uniform event visits on average in any tree of so many subscriptions."""
    k1 = attributes + 1
    grown = k1 * subscriptions ** exponent(attributes, values) - 1
    return values * k1 * grown * (log(values) + log(k1)) / ((values * k1 - 1) * log(k1))


def exponent(attributes: int = ATTRIBUTES, values: int = VALUES) -> float:
    """Exponent 1 - λ: the bound grows with this power of the number of subscriptions."""
    return 1 - log(values) / (log(values) + log(attributes + 1))


def _workload(name: str, asked: Int64s, tested: Bools, events: int, values: int, rng: np.random.Generator) -> Workload:
    rows, attributes = asked.shape
    names = [f"a{k}" for k in range(attributes)]
    some = np.flatnonzero(tested.any(axis=1))
    numbers = np.broadcast_to(np.arange(attributes), (len(some), attributes))
    conditions = Conditions(numbers, asked[some], asked[some], tested[some])
    # Arrow drops a row from a join in which there is nothing to join: those that test nothing are put back.
    texts = pc.replace_with_mask(
        pa.repeat("TRUE", rows), tested.any(axis=1), conditions.texts(names, np.ones(attributes, np.bool_))
    )
    drawn = rng.integers(0, values, (events, attributes))
    columns = {name: codes_as_strings(drawn[:, k]) for k, name in enumerate(names)}
    return Workload(name, single_type(dict.fromkeys(names, "string")), numbered(texts), pa.table(columns))


# Le Subscribe's workload (Fabret et al., P2 §4).

STRINGS = ("a1", "a2", "a3")
NUMBERS = ("b1", "b2", "b3")
NAMES = STRINGS + NUMBERS
SIZES = (200, 200, 200, 5000, 5000, 5000)
PRESENCE = 0.5

_ABSENT, _EQUAL, _LESS, _GREATER = range(4)
_OPERATORS = pa.array(["", " = ", " < ", " > "])


def le_subscribe(subscriptions: int, events: int, seed: int = 1, *, p: float = 0.5) -> Workload:
    """Workload of six optional attributes, three of 200 strings and three of 5000 numbers, values uniform.

    A subscription names each attribute with probability one half, and at least one. On strings it asks for equality; on
    numbers for equality with probability `p`, else for less or greater, evenly. An event has each attribute with
    probability one half.
    """
    rng = np.random.default_rng(seed)
    texts = _texts(subscriptions, p, rng)
    values = [rng.integers(0, size, events) for size in SIZES]
    present = rng.random((events, len(NAMES))) < PRESENCE
    columns = {}
    for k, name in enumerate(NAMES):
        here = present[:, k]
        columns[name] = codes_as_strings(values[k], here) if name in STRINGS else pa.array(values[k], mask=~here)
    schema = single_type(dict.fromkeys(STRINGS, "string") | dict.fromkeys(NUMBERS, "integer"))
    return Workload("le_subscribe", schema, numbered(texts), pa.table(columns))


def _texts(count: int, p: float, rng: np.random.Generator) -> pa.StringArray:
    present = rng.random((count, len(NAMES))) < PRESENCE
    while (empty := ~present.any(axis=1)).any():
        present[empty] = rng.random((int(empty.sum()), len(NAMES))) < PRESENCE
    inequality = np.where(rng.random((count, len(NUMBERS))) < 0.5, _LESS, _GREATER)
    operator = np.full((count, len(NAMES)), _EQUAL)
    operator[:, len(STRINGS) :] = np.where(rng.random((count, len(NUMBERS))) < p, _EQUAL, inequality)
    terms = []
    for k, (name, size) in enumerate(zip(NAMES, SIZES, strict=True)):
        drawn = rng.integers(0, size, count)
        quote = "'" if name in STRINGS else ""
        value = codes_as_strings(drawn) if name in STRINGS else pa.array(drawn).cast(pa.string())
        sign = _OPERATORS.take(pa.array(operator[:, k], mask=~present[:, k]))
        terms.append(pc.binary_join_element_wise(name, sign, quote, value, quote, ""))
    return pc.binary_join_element_wise(*terms, " AND ", null_handling="skip")
