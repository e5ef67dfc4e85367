"""The auctions that the pipeline's tests share: numbered lots, subscriptions, and what the oracle says of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import tamis
from tamis.testing import reference_matches
from tamis.workloads.auction_lots import auction_schema, interests, lots

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = auction_schema()


@cache
def texts(count: int = 400) -> dict[str, str]:
    """Subscriptions by id."""
    return {f"s{number}": text for number, text in enumerate(islice(interests(3), count))}


@cache
def compiled() -> tamis.Index:
    """An index of `texts()`; not to be changed."""
    return tamis.compile(texts(), SCHEMA)


def some_lots(count: int, seed: int = 5) -> list[dict[str, Any]]:
    """Lots, no two of them alike: each has its number in the title."""
    drawn = islice(lots(seed), count)
    return [{**lot, "title": f"{lot.get('title', 'lot')} no. {number}"} for number, lot in enumerate(drawn)]


def expected(events: Sequence[dict[str, Any]], subscriptions: dict[str, str] | None = None) -> dict[str, list[str]]:
    """What the oracle says: the ids that each event matched, by the event's title."""
    told = reference_matches(texts() if subscriptions is None else subscriptions, SCHEMA, events)
    return {event["title"]: ids for event, ids in zip(events, told, strict=True)}


def pairs(matched: dict[str, list[str]]) -> list[tuple[str, str]]:
    """The same as (title, id), sorted; repeats stay."""
    return sorted((title, id) for title, ids in matched.items() for id in ids)


def frame(spark: SparkSession, events: Sequence[dict[str, Any]]) -> DataFrame:
    """The events as a DataFrame in two partitions, a column an attribute."""
    return spark.createDataFrame(pa.Table.from_batches([SCHEMA.to_arrow(events)])).repartition(2)


def found_pairs(matches: DataFrame) -> list[tuple[str, str]]:
    """Title and subscription of every row, sorted; repeats stay."""
    return sorted((row["title"], row["subscription"]) for row in matches.collect())


def write_lines(folder: Path, name: str, lines: Iterable[str | dict[str, Any]]) -> None:
    """A file of JSON lines that appears whole, as a streaming source expects it."""
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{name}"
    written = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    partial.write_text("\n".join(written) + "\n", encoding="utf-8")
    partial.rename(folder / f"{name}.jsonl")
