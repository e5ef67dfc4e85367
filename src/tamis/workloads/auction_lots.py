"""The events of the auctions: lots that open, fall in price and are sold."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tamis.schema.timestamps import write_instant
from tamis.workloads.auction_catalogue import KINDS, MATERIALS, OBJECTS, PERIODS, SELLERS, STYLES, TAGS

FIRST_DAY = datetime(2024, 5, 1, 10, tzinfo=UTC)
DAYS = 365

_TAG_WEIGHTS = list(itertools.accumulate(1 / (k + 2) for k in range(len(TAGS))))
_SELLER_WEIGHTS = list(itertools.accumulate(1 / (k + 4) for k in range(len(SELLERS))))
_PERIOD_WEIGHTS = list(itertools.accumulate((1, 3, 8, 12, 6)))


def lots(seed: int = 1) -> Iterator[dict[str, Any]]:
    """Lots without end; the same seed gives the same lots."""
    rng = random.Random(f"lots {seed}")
    while True:
        yield _lot(rng)


def json_lines(count: int, seed: int = 1, malformed: float = 0.0) -> Iterator[str]:
    """Lots as JSON lines; about the share `malformed` of them breaks the schema or is no JSON at all."""
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
