"""An exchange whose stocks, reviews and trades are tables: what the tests of joins in the service share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tamis.joins.arrivals import Showing
from tamis.joins.naive import NaiveJoins
from tamis.schema import Schema
from tamis.service.base.offering import serving_schema
from tamis.service.store import NewSubscription, Store, Subscription
from tamis.service.store.joins import result_id, row_text

FORM = Schema.from_yaml("""
attributes: {Symbol: string, PER: float, Analyst: string, Rating: float, Price: float, at: timestamp}
event_types:
  Stocks:  {Symbol: mandatory, PER: mandatory}
  Reviews: {Symbol: mandatory, Analyst: mandatory, Rating: mandatory}
  Trades:  {Symbol: mandatory, Price: mandatory, at: mandatory}
  News:    {Symbol: mandatory}
tables:
  Stocks:  {key: [Symbol], join: [Symbol]}
  Reviews: {key: [Symbol, Analyst], join: [Symbol], retention: {count: 5}}
  Trades:  {join: [Symbol], retention: {window: 20 seconds, by: at}}
""").to_dict()
SCHEMA = serving_schema(Schema.from_dict(FORM))
PRAISED = "SELECT * FROM Stocks JOIN Reviews USING (Symbol) WHERE PER BETWEEN 20 AND 70 AND Rating >= 5"
TRADED = "SELECT Symbol, Price FROM Stocks NATURAL JOIN Trades WHERE PER < 60 AND Symbol != 'D'"
ALL_THREE = "SELECT * FROM Stocks JOIN Reviews USING (Symbol) JOIN Trades USING (Symbol) WHERE Rating > 2"
LATER = datetime.now(UTC) + timedelta(days=1)
_START = datetime(2026, 5, 1, tzinfo=UTC)


def subscribed(store: Store, text: str, **options: Any) -> Subscription:
    fields = {"owner": "", "text": text, "filter": text, "kind": "join", "expires": LATER, **options}
    return store.subscriptions.create(NewSubscription(**fields))[0]


def stock(symbol: str, per: float, **more: Any) -> dict[str, Any]:
    return {"event_type": ["Stocks"], "Symbol": symbol, "PER": per, **more}


def review(symbol: str, analyst: str, rating: float, **more: Any) -> dict[str, Any]:
    return {"event_type": ["Reviews"], "Symbol": symbol, "Analyst": analyst, "Rating": rating, **more}


def drawn(random: Random, count: int, second: int) -> list[dict[str, Any]]:
    """Changes of all sorts, some of which their table refuses, and an event of no table now and then."""
    return [_drawn(random, second + place) for place in range(count)]


def _drawn(random: Random, second: int) -> dict[str, Any]:
    symbol, table = random.choice("ABCD"), random.choice(["Stocks", "Stocks", "Reviews", "Reviews", "Trades", "News"])
    operation = random.choice([None, None, None, "insert", "update", "delete"])
    if table == "News":
        return {"event_type": ["News"], "Symbol": symbol}
    if table == "Trades":
        at = (_START + timedelta(seconds=second - random.randrange(30))).isoformat()
        return {"event_type": ["Trades"], "Symbol": symbol, "Price": float(random.randrange(9)), "at": at}
    own: dict[str, Any] = {"PER": float(random.randrange(100))}
    if table == "Reviews":
        own = {"Analyst": random.choice(["Ann", "Bob"]), "Rating": float(random.randrange(11))}
    event = {"event_type": [table], "Symbol": symbol, **own}
    if operation == "delete":
        event.pop("PER", None), event.pop("Rating", None)
    return event if operation is None else event | {"operation": operation}


def shown(oracle: NaiveJoins, id: str) -> dict[str, Any]:
    """What a subscription's content ought to be: results by id."""
    join = oracle.joins[id]
    showing = Showing(join.signature, join.columns, SCHEMA)
    return {result_id(result): json.loads(row_text(showing.show(rows))) for result, rows in oracle.content(id).items()}


def kept(store: Store, number: int) -> dict[str, Any]:
    """What the store has."""
    return {id: json.loads(row) for id, row in store.joins.content(number).rows}


def told(store: Store, number: int, start: dict[str, Any], cursor: int) -> dict[str, Any]:
    """What a follower holds that had `start` at a cursor, and was told the rest; it complains of what does not fit."""
    held = dict(start)
    for notified in store.notifications.after(number, cursor, 100_000):
        for change in json.loads(str(notified.changes)):
            apply(held, change)
    return held


def apply(held: dict[str, Any], change: dict[str, Any]) -> None:
    if change["change"] == "begins":
        held.clear()
    elif change["change"] == "removed":
        assert held.pop(change["id"]) == change["row"]
    else:
        assert change["id"] not in held
        held[change["id"]] = change["row"]


def bodies(events: Sequence[dict[str, Any]]) -> list[str]:
    return [json.dumps(event) for event in events]
