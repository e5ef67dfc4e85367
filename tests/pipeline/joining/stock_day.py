"""Stocks, reviews and what was said of them: a small history of tables, and contents put together from changes."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tamis import Schema
from tamis.joins.arrivals import Showing
from tamis.joins.naive import NaiveJoins

SCHEMA = Schema.from_yaml("""
attributes: {Symbol: string, PER: float, Analyst: string, Rating: float, Market: string, open: boolean}
event_types:
  Stocks:  {Symbol: mandatory, Market: mandatory, PER: mandatory}
  Reviews: {Symbol: mandatory, Analyst: mandatory, Rating: mandatory}
  Markets: {Market: mandatory, open: mandatory}
tables:
  Stocks:  {key: [Symbol], join: [Symbol, Market]}
  Reviews: {key: [Symbol, Analyst], join: [Symbol]}
  Markets: {key: [Market], join: [Market]}
""")
PAIR = "SELECT * FROM Stocks JOIN Reviews USING (Symbol)"
TEXTS = {
    "praised": f"{PAIR} WHERE PER BETWEEN 20 AND 70 AND Rating >= 6",
    "ann": f"{PAIR} WHERE Analyst LIKE 'A%'",
    "all": PAIR,
    "symbols": "SELECT Stocks.Symbol FROM Stocks JOIN Reviews USING (Symbol) WHERE Rating > 3",
}
CHAIN = {
    "chain": "SELECT * FROM Reviews JOIN Stocks USING (Symbol) JOIN Markets USING (Market) WHERE Rating > 4",
    "open": "SELECT * FROM Stocks JOIN Markets USING (Market) WHERE open = TRUE AND PER > 30",
}
MARKETS = ("NY", "Tokyo", "Paris")


def history(count: int, seed: int = 1, symbols: int = 12) -> list[dict[str, Any]]:
    """Changes of all kinds, some of which tables have to refuse; `n` orders them."""
    rng = random.Random(seed)
    events: list[dict[str, Any]] = []
    for n in range(count):
        table = rng.choice(("Stocks", "Stocks", "Reviews", "Reviews", "Reviews", "Markets"))
        operation = rng.choice((None, None, None, None, "insert", "update", "delete"))
        event: dict[str, Any] = {"event_type": [table]} | ({"operation": operation} if operation else {})
        if table != "Markets":
            event["Symbol"] = f"S{rng.randrange(symbols)}"
        if table == "Stocks":
            event |= {"Market": rng.choice(MARKETS), "PER": float(rng.randrange(100))}
        elif table == "Reviews":
            event |= {"Analyst": rng.choice(("Ann", "Bob", "Cyd")), "Rating": float(rng.randrange(10))}
        else:
            event |= {"Market": rng.choice(MARKETS), "open": rng.random() < 0.7}
        if operation == "delete":
            event = {name: value for name, value in event.items() if name not in ("PER", "Rating", "open")}
            if table == "Stocks":
                del event["Market"]
        events.append(event | {"n": n})
    return events


def contents(events: Iterable[Mapping[str, Any]], texts: Mapping[str, str]) -> dict[str, Counter[str]]:
    """What the oracle holds in the end, as canonical texts."""
    oracle = NaiveJoins(SCHEMA, texts)
    oracle.apply([{name: value for name, value in event.items() if name != "n"} for event in events])
    found = {}
    for id, join in oracle.joins.items():
        showing = Showing(join.signature, join.columns, SCHEMA)
        found[id] = Counter(canonical(showing.show(rows)) for rows in oracle.content(id).values())
    return found


def refused(events: Iterable[Mapping[str, Any]]) -> list[int]:
    """Which of the events tables refuse, by `n`."""
    events = list(events)
    oracle = NaiveJoins(SCHEMA, {})
    _, reasons = oracle.apply([{name: value for name, value in event.items() if name != "n"} for event in events])
    return [events[row]["n"] for row in reasons]


def followed(rows: Sequence[Any], texts: Mapping[str, str]) -> dict[str, Counter[str]]:
    """What a reader holds who goes by the changes, batch by batch; each change may be seen any number of times."""
    held: dict[str, Counter[str]] = {id: Counter() for id in texts}
    seen: set[str] = set()
    for row in sorted(rows, key=lambda row: (row["batch"], row["change"] == "added")):
        if row["notification"] in seen:
            continue
        seen.add(row["notification"])
        held[row["subscription"]][canonical(json.loads(row["row"]))] += 1 if row["change"] == "added" else -1
    assert all(count >= 0 for one in held.values() for count in one.values())
    return {id: +one for id, one in held.items()}


def canonical(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


def write_events(folder: Path, name: str, events: Iterable[Mapping[str, Any]]) -> None:
    """A file of JSON lines that appears at once."""
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".{name}"
    lines = ({**event, "n": None} for event in events)
    hidden.write_text(
        "".join(json.dumps({k: v for k, v in e.items() if v is not None}) + "\n" for e in lines), encoding="utf-8"
    )
    # Spark takes files by their time, and the system's clock may stand still for some milliseconds between two of them.
    newest = max((path.stat().st_mtime_ns for path in folder.glob("*.jsonl")), default=0)
    moment = max(time.time_ns(), newest + 10_000_000)
    os.utime(hidden, ns=(moment, moment))
    hidden.rename(folder / f"{name}.jsonl")
