"""The subscriptions of the auctions: what a hundred thousand collectors might ask to be told about."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from datetime import timedelta

from tamis.workloads.auction_catalogue import CATEGORIES, KINDS, MATERIALS, OBJECTS, PERIODS, SELLERS, STYLES, TAGS
from tamis.workloads.auction_lots import DAYS, FIRST_DAY


def interests(seed: int = 1) -> Iterator[str]:
    """Filters without end; the same seed gives the same filters."""
    rng = random.Random(f"interests {seed}")
    while True:
        yield rng.choices(_INTERESTS, cum_weights=_WEIGHTS)[0](rng)


def _bargain(rng: random.Random) -> str:
    return f"furniture_category <= '{_category(rng)}' AND price < {_price(rng, 3.5)} AND {_detail(rng)}"


def _collector(rng: random.Random) -> str:
    low = _price(rng, 5.5)
    order = rng.choice(("=", "=", "<=", ">="))
    span = f"price BETWEEN {low} AND {round(low * rng.uniform(1.05, 1.5), 2)}"
    return f"event_type CONTAINS 'antiques' AND period {order} '{rng.choice(PERIODS)}' AND {span} AND {_detail(rng)}"


def _follower(rng: random.Random) -> str:
    earlier, later = sorted(rng.sample(range(len(PERIODS)), 2))
    seller = rng.choice(SELLERS).replace("'", "''")
    either = (
        f"(period = '{PERIODS[earlier]}' OR period = '{PERIODS[later]}' OR furniture_category < '{_category(rng)}')"
    )
    return f"seller.name = '{seller}' AND {either} AND price <= {_price(rng, 5.0)}"


def _reader(rng: random.Random) -> str:
    style = rng.choice(STYLES[rng.choice(PERIODS)])
    thing = rng.choice((*OBJECTS, *KINDS.values()))
    wanted = rng.choice(
        (
            f"title LIKE '{style}%{thing}'",
            f"title LIKE '%{rng.choice(MATERIALS)} {thing}%'",
            f"title ILIKE 'pair of %{thing}%'",
            f"title RLIKE '(?i)^{style} ({'|'.join(rng.sample(MATERIALS, 2))})'",
        )
    )
    return f"{wanted} AND price <= {_price(rng, 5.5)}"


def _tag_watcher(rng: random.Random) -> str:
    first, second, third = rng.sample(TAGS, 3)
    wanted = f"tags CONTAINS '{first}' AND tags CONTAINS '{second}' AND NOT (tags CONTAINS '{third}')"
    return f"{wanted} AND {_detail(rng)}"


def _patient(rng: random.Random) -> str:
    wanted = f"furniture_category <= '{_category(rng)}' AND price < {_price(rng, 4.5)}"
    return f"price < old.price AND {wanted} AND {_detail(rng)}"


def _careful(rng: random.Random) -> str:
    periods = ", ".join(f"'{period}'" for period in rng.sample(PERIODS, 2))
    rest = f"sold != TRUE AND seller.rating >= {rng.choice((4, 5))} AND old.price IS NULL"
    return f"period IN ({periods}) AND {rest} AND {_detail(rng)} AND price < {_price(rng, 4.5)}"


def _decorator(rng: random.Random) -> str:
    return f"quantity >= {rng.choice((4, 6, 8))} AND furniture_category <= '{_category(rng)}' AND {_detail(rng)}"


def _season(rng: random.Random) -> str:
    start = FIRST_DAY + timedelta(hours=rng.randrange(DAYS * 24))
    end = start + timedelta(hours=rng.choice((6, 24, 72)))
    window = f"opened BETWEEN TIMESTAMP '{start:%Y-%m-%d %H:%M:%S}' AND TIMESTAMP '{end:%Y-%m-%d %H:%M:%S}'"
    return f"{window} AND (period <= '{rng.choice(PERIODS)}' OR furniture_category <= '{_category(rng)}')"


def _detail(rng: random.Random) -> str:
    """One more condition, selective enough that a collector is not told of everything."""
    return rng.choice(
        (
            lambda: f"tags CONTAINS '{rng.choice(TAGS[4:])}'",
            lambda: f"title LIKE '%{rng.choice(MATERIALS)}%'",
            lambda: "seller.name = '" + rng.choice(SELLERS).replace("'", "''") + "'",
            lambda: f"title LIKE '{rng.choice(STYLES[rng.choice(PERIODS)])}%'",
        )
    )()


def _price(rng: random.Random, mean: float) -> float:
    return round(rng.lognormvariate(mean, 0.6), 2)


def _category(rng: random.Random) -> str:
    return rng.choice(CATEGORIES)


_CHOICES: tuple[tuple[Callable[[random.Random], str], int], ...] = (
    (_bargain, 20),
    (_collector, 20),
    (_follower, 12),
    (_reader, 14),
    (_tag_watcher, 10),
    (_patient, 8),
    (_careful, 8),
    (_decorator, 4),
    (_season, 4),
)
_INTERESTS = tuple(interest for interest, _ in _CHOICES)
_WEIGHTS = list(itertools.accumulate(weight for _, weight in _CHOICES))
