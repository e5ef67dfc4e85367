"""Auction workload (antiques and furniture, Le Subscribe's example, `make demo`): generated lots and collectors'
filters."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from tamis.schema.timestamps import write_instant
from tamis.workloads.auction_catalogue import (
    CATEGORIES,
    KINDS,
    MATERIALS,
    OBJECTS,
    PERIODS,
    SELLERS,
    STYLES,
    TAGS,
    auction_schema,
)
from tamis.workloads.workload import Workload, numbered

FIRST_DAY = datetime(2024, 5, 1, 10, tzinfo=UTC)
DAYS = 365

_TAG_WEIGHTS = list(itertools.accumulate(1 / (k + 2) for k in range(len(TAGS))))
_SELLER_WEIGHTS = list(itertools.accumulate(1 / (k + 4) for k in range(len(SELLERS))))
_PERIOD_WEIGHTS = list(itertools.accumulate((1, 3, 8, 12, 6)))


def lots(seed: int = 1) -> Iterator[dict[str, Any]]:
    """Endless lots; equal seeds give equal lots."""
    rng = random.Random(f"lots {seed}")
    while True:
        yield _lot(rng)


def json_lines(count: int, seed: int = 1, malformed: float = 0.0) -> Iterator[str]:
    """Lots as JSON lines; a share `malformed` of them violates the schema or is no JSON at all."""
    rng = random.Random(f"lines {seed}")
    for lot in itertools.islice(lots(seed), count):
        if rng.random() < malformed:
            yield rng.choice(_FAULTS)(lot)
        else:
            yield json.dumps(lot, ensure_ascii=False)


def _lot(rng: random.Random) -> dict[str, Any]:
    antique, furniture = rng.choice(((True, False), (False, True), (True, True)))
    period = rng.choices(PERIODS, cum_weights=_PERIOD_WEIGHTS)[0]
    category = rng.choice(_CATEGORIES)
    price = round(rng.lognormvariate(5.8, 1.1), 2)
    lot: dict[str, Any] = {
        "event_type": [name for name, here in (("antiques", antique), ("furniture", furniture)) if here],
        "price": price,
        "quantity": rng.choice((1, 1, 1, 1, 2, 2, 4, 6, 8, 12)),
    }
    if antique:
        lot["period"] = period
    if furniture:
        lot["furniture_category"] = category
    if rng.random() < 0.95:
        lot["title"] = _title(rng, KINDS[category] if furniture else rng.choice(OBJECTS), period if antique else None)
    if tags := set(rng.choices(TAGS, cum_weights=_TAG_WEIGHTS, k=rng.randrange(5))):
        lot["tags"] = sorted(tags)
    if rng.random() < 0.9:
        lot["seller.name"] = rng.choices(SELLERS, cum_weights=_SELLER_WEIGHTS)[0]
        lot["seller.rating"] = rng.choice((1, 2, 3, 3, 4, 4, 4, 5, 5))
    if rng.random() < 0.3:
        lot["old.price"] = round(price * rng.uniform(0.8, 1.6), 2)
    if rng.random() < 0.7:
        lot["sold"] = rng.random() < 0.25
    if rng.random() < 0.8:
        opened = FIRST_DAY + timedelta(minutes=rng.randrange(DAYS * 24 * 60))
        lot["opened"] = write_instant(opened)
    return lot


_CATEGORIES = tuple(KINDS)


def _title(rng: random.Random, thing: str, period: str | None) -> str:
    words = [rng.choice(MATERIALS)] if rng.random() < 0.6 else []
    if period is not None and rng.random() < 0.8:
        words.insert(0, rng.choice(STYLES[period]))
    phrase = " ".join([*words, thing])
    if rng.random() < 0.12:
        phrase = f"pair of {phrase}s"
    return phrase[0].upper() + phrase[1:]


def _with(**change: Any) -> Callable[[dict[str, Any]], str]:
    return lambda lot: json.dumps({**lot, **change}, ensure_ascii=False)


def _without(attribute: str) -> Callable[[dict[str, Any]], str]:
    return lambda lot: json.dumps({k: v for k, v in lot.items() if k != attribute}, ensure_ascii=False)


def _cut(lot: dict[str, Any]) -> str:
    line = json.dumps(lot, ensure_ascii=False)
    return line[: 2 * len(line) // 3]


_FAULTS: tuple[Callable[[dict[str, Any]], str], ...] = (
    _cut,
    _without("price"),
    _without("quantity"),
    _with(price="on request"),
    _with(quantity=1.5),
    _with(event_type=["antiques"], period="MCMXX"),
    _with(event_type=["furniture"], furniture_category="spaceship"),
    _with(event_type=["livestock"]),
    _with(seller=7),
    lambda _: "not JSON",
)


# Subscriptions: the filters of a hundred thousand collectors.


def interests(seed: int = 1) -> Iterator[str]:
    """Endless filters; equal seeds give equal filters."""
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
    """Additional condition, selective enough that a collector is not notified of everything."""
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


# The workload.

__all__ = ["auction_schema", "auctions", "interests", "json_lines", "lots"]


def auctions(subscriptions: int, events: int, seed: int = 1) -> Workload:
    """Auction workload: subscriptions in the whole language, events of one or two types, some attributes absent or
    multiple."""
    schema = auction_schema()
    texts = pa.array(itertools.islice(interests(seed), subscriptions), pa.string())
    rows = schema.to_arrow(list(itertools.islice(lots(seed), events)))
    return Workload("auctions", schema, numbered(texts), pa.Table.from_batches([rows]))
