"""Workloads w1 to w6: ten that stress an index differently (many attributes, hot values, ranges only, thresholds).

Coded attributes (`c0`, `c1`, …) hold strings and are compared for equality; the others (`n3`, …) hold integers and are
compared with ranges. Attributes are numbered through.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tamis.arrays import Bools, Int64s
from tamis.workloads.papers import le_subscribe
from tamis.workloads.workload import (
    UNBOUNDED_ABOVE,
    UNBOUNDED_BELOW,
    Conditions,
    Workload,
    codes_as_strings,
    distinct,
    numbered,
    popularity,
    shuffled,
    single_type,
    zipf,
)

NUMBERS = 100_000  # the integers are 0 … 99,999
CODES = 1000
WIDTHS = (1000, 10_000, 30_000)  # of ranges: one, ten and thirty per cent of the numbers


def w1(subscriptions: int, events: int, seed: int = 1) -> Workload:
    """Workload of Le Subscribe, half of the conditions on numbers equalities."""
    return le_subscribe(subscriptions, events, seed, p=0.5)


def w1p1(subscriptions: int, events: int, seed: int = 1) -> Workload:
    """Workload of Le Subscribe, equalities only."""
    return le_subscribe(subscriptions, events, seed, p=1.0)


def w2(subscriptions: int, events: int, seed: int = 1, *, hot: bool = False) -> Workload:
    """Twenty attributes, some more popular than others; three equalities and two ranges a subscription.

    An event has fifteen of the twenty; its codes are uniform, or as skewed as the subscriptions' where `hot`.
    """
    rng = np.random.default_rng(seed)
    coded = np.arange(20) < 12
    codes, numbers = (
        distinct(rng, subscriptions, 3, popularity(12)),
        distinct(rng, subscriptions, 2, popularity(8)) + 12,
    )
    value, low = zipf(rng, (subscriptions, 3), CODES), rng.integers(0, 90_000, (subscriptions, 2))
    asked = Conditions(
        np.concatenate([codes, numbers], axis=1),
        np.concatenate([value, low], axis=1),
        np.concatenate([value, low + 9_999], axis=1),
        np.ones((subscriptions, 5), bool),
    )
    drawn = np.empty((events, 20), np.int64)
    drawn[:, :12] = zipf(rng, (events, 12), CODES) if hot else rng.integers(0, CODES, (events, 12))
    drawn[:, 12:] = rng.integers(0, NUMBERS, (events, 8))
    present = np.ones((events, 20), bool)
    np.put_along_axis(present, distinct(rng, events, 5, np.ones(20)), False, axis=1)
    return _workload("w2z" if hot else "w2", coded, asked, drawn, present)


def w2z(subscriptions: int, events: int, seed: int = 1) -> Workload:
    """w2 with hot codes in the events too."""
    return w2(subscriptions, events, seed, hot=True)


def w3(subscriptions: int, events: int, seed: int = 1) -> Workload:
    """Two hundred attributes, the popular ones first; two to six conditions and five to fifteen values a row."""
    rng = np.random.default_rng(seed)
    weights, coded = popularity(200), np.arange(200) % 5 < 3
    form = (subscriptions, 6)
    attribute = distinct(rng, subscriptions, 6, weights)
    asked_for = np.arange(6)[None] < rng.integers(2, 7, subscriptions)[:, None]
    attribute = shuffled(rng, attribute)  # else the cut to so many conditions would favour some attributes
    value, (low, high) = zipf(rng, form, CODES), _ranges(rng, form)
    equality = coded[attribute]
    asked = Conditions(attribute, np.where(equality, value, low), np.where(equality, value, high), asked_for)

    codes, numbers = rng.integers(0, CODES, (events, 200)), rng.integers(0, NUMBERS, (events, 200))
    bound = shuffled(rng, distinct(rng, events, 15, weights))
    size = rng.integers(5, 16, events)
    present = np.zeros((events, 200), bool)
    np.put_along_axis(present, bound, np.arange(15)[None] < size[:, None], axis=1)
    return _workload("w3", coded, asked, np.where(coded[None], codes, numbers), present)


def w4(subscriptions: int, events: int, seed: int = 1) -> Workload:
    """Ten attributes, ranges only, two to four a subscription."""
    rng = np.random.default_rng(seed)
    attribute = shuffled(rng, distinct(rng, subscriptions, 4, np.ones(10)))
    asked_for = np.arange(4)[None] < rng.integers(2, 5, subscriptions)[:, None]
    asked = Conditions(attribute, *_ranges(rng, (subscriptions, 4)), asked_for)
    return _workload("w4", np.zeros(10, bool), asked, rng.integers(0, NUMBERS, (events, 10)))


def w5(subscriptions: int, events: int, seed: int = 1, *, selective: bool = False) -> Workload:
    """Four attributes, thresholds only, two to four a subscription, each met by half of the events on average.

    Where `selective` most thresholds are met by few events.
    """
    rng = np.random.default_rng(seed)
    form = (subscriptions, 4)
    attribute = distinct(rng, subscriptions, 4, np.ones(4))
    asked_for = np.arange(4)[None] < rng.integers(2, 5, subscriptions)[:, None]
    attribute = shuffled(rng, attribute)
    above, share = rng.random(form) < 0.5, rng.random(form)
    reach = ((share**4 if selective else share) * NUMBERS).astype(np.int64)
    low = np.where(above, NUMBERS - reach, UNBOUNDED_BELOW)
    high = np.where(above, UNBOUNDED_ABOVE, reach - 1)
    asked = Conditions(attribute, low, high, asked_for)
    return _workload("w5s" if selective else "w5", np.zeros(4, bool), asked, rng.integers(0, NUMBERS, (events, 4)))


def w5s(subscriptions: int, events: int, seed: int = 1) -> Workload:
    """w5 with selective thresholds."""
    return w5(subscriptions, events, seed, selective=True)


def w6(subscriptions: int, events: int, seed: int = 1) -> Workload:
    """Hot equality (half of subscriptions and events agree on one value of 200), a rare one, and a threshold."""
    rng = np.random.default_rng(seed)
    attribute = np.stack(
        [np.zeros(subscriptions, int), 1 + rng.integers(0, 6, subscriptions), np.full(subscriptions, 7)], axis=1
    )
    hot = np.where(rng.random(subscriptions) < 0.5, 0, rng.integers(1, 200, subscriptions))
    rare, threshold = rng.integers(0, 10_000, subscriptions), rng.integers(0, NUMBERS, subscriptions)
    low = np.stack([hot, rare, threshold], axis=1)
    high = np.stack([hot, rare, np.full(subscriptions, UNBOUNDED_ABOVE)], axis=1)
    drawn = rng.integers(0, 10_000, (events, 8))
    drawn[:, 0] = np.where(rng.random(events) < 0.5, 0, rng.integers(1, 200, events))
    drawn[:, 7] = rng.integers(0, NUMBERS, events)
    asked = Conditions(attribute, low, high, np.ones((subscriptions, 3), bool))
    return _workload("w6", np.arange(8) < 7, asked, drawn)


def w6a(subscriptions: int, events: int, seed: int = 1) -> Workload:
    """Equality of three values, which is all there is to hash on, and two ranges of a tenth each."""
    rng = np.random.default_rng(seed)
    attribute = np.stack(
        [np.zeros(subscriptions, int), 1 + rng.integers(0, 2, subscriptions), 3 + rng.integers(0, 2, subscriptions)],
        axis=1,
    )
    low, value = rng.integers(0, 90_000, (subscriptions, 2)), rng.integers(0, 3, (subscriptions, 1))
    asked = Conditions(
        attribute,
        np.concatenate([value, low], axis=1),
        np.concatenate([value, low + 9_999], axis=1),
        np.ones((subscriptions, 3), bool),
    )
    drawn = rng.integers(0, NUMBERS, (events, 5))
    drawn[:, 0] = rng.integers(0, 3, events)
    return _workload("w6a", np.arange(5) < 1, asked, drawn)


def _ranges(rng: np.random.Generator, form: tuple[int, int]) -> tuple[Int64s, Int64s]:
    """Lowest and highest number of a range of one of the three widths, anywhere."""
    width = rng.choice(WIDTHS, form)
    low = (rng.random(form) * (NUMBERS - width)).astype(np.int64)
    return low, low + width - 1


def _workload(name: str, coded: Bools, asked: Conditions, drawn: Int64s, present: Bools | None = None) -> Workload:
    names = [f"{'c' if is_coded else 'n'}{k}" for k, is_coded in enumerate(coded)]
    here = np.ones(drawn.shape, bool) if present is None else present
    columns = {
        each: codes_as_strings(drawn[:, k], here[:, k]) if coded[k] else pa.array(drawn[:, k], mask=~here[:, k])
        for k, each in enumerate(names)
    }
    schema = single_type({each: "string" if coded[k] else "integer" for k, each in enumerate(names)})
    return Workload(name, schema, numbered(asked.texts(names, coded)), pa.table(columns))
