"""What a reader of the page on pipelines has already: a schema, subscriptions, events and their history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet

SCHEMA: Final = """
attributes: {title: string, price: float, sold: boolean, opened: timestamp, Symbol: string, PER: float,
             Analyst: string, Rating: float, at: integer}
event_types:
  lot:     {title: mandatory, price: mandatory, sold: optional, opened: optional}
  Stocks:  {Symbol: mandatory, PER: mandatory, at: optional}
  Reviews: {Symbol: mandatory, Analyst: mandatory, Rating: mandatory, at: optional}
default_event_type: lot
tables:
  Stocks:  {key: [Symbol], join: [Symbol]}
  Reviews: {key: [Symbol, Analyst], join: [Symbol]}
"""
SUBSCRIPTIONS: Final = {
    "ann": "price < 500 AND title ILIKE '%desk%'",
    "s17": "price BETWEEN 10 AND 20",
    "wrong": "prise > 3",
}
LOTS: Final[list[dict[str, Any]]] = [
    {"title": "Writing desk", "price": 480.0, "sold": True, "opened": "2024-05-01T10:00:00Z"},
    {"title": "Chest", "price": 900.0, "sold": False, "opened": "2024-05-02T10:00:00Z"},
    {"title": "Candle", "price": 3.0, "sold": True, "opened": "2024-05-03T10:00:00Z"},
]
STOCKS: Final[list[dict[str, Any]]] = [{"Symbol": "GOOG", "PER": 51.5, "at": 1}]
REVIEWS: Final[list[dict[str, Any]]] = [{"Symbol": "GOOG", "Analyst": "Ann", "Rating": 7.5, "at": 2}]

READ: Final = (
    "auctions.yaml", "subscriptions", "lots", "lots.jsonl", "incoming", "quotes", "stocks", "reviews", "history",
)  # fmt: skip
WRITTEN: Final = (
    "subscriptions.tamis", "matches", "dead", "checkpoint", "joins.tamis", "changes", "joins-dead",
    "joins-checkpoint", "shards", "bargain.png",
)  # fmt: skip


def a_readers_files(folder: Path) -> None:
    """All of `READ`: folders of Parquet, but for the schema, and for lines of JSON with one that is none."""
    (folder / "auctions.yaml").write_text(SCHEMA, encoding="utf-8")
    quotes = [{"event_type": "Stocks", **row} for row in STOCKS] + [{"event_type": "Reviews", **row} for row in REVIEWS]
    tables = {
        "subscriptions": [{"id": id, "filter": text} for id, text in SUBSCRIPTIONS.items()],
        "lots": LOTS,
        "history": LOTS,
        "quotes": quotes,
        "stocks": STOCKS,
        "reviews": REVIEWS,
    }
    for name, rows in tables.items():
        (folder / name).mkdir()
        columns = dict.fromkeys(key for row in rows for key in row)
        table = pa.table({key: [row.get(key) for row in rows] for key in columns})
        if "opened" in columns:
            opened = table["opened"].cast(pa.timestamp("us", "UTC"))
            table = table.set_column(table.schema.get_field_index("opened"), "opened", opened)
        pyarrow.parquet.write_table(table, folder / name / "1.parquet")
    lines = "".join(json.dumps(event) + "\n" for event in [*LOTS, *quotes]) + "no event\n"
    (folder / "lots.jsonl").write_text(lines, encoding="utf-8")
    (folder / "incoming").mkdir()
    (folder / "incoming" / "1.jsonl").write_text(lines, encoding="utf-8")
