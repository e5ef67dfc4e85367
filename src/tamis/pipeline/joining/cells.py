"""Partitioning of join tables into cells, each a group of Spark's state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int64s
from tamis.errors import PipelineError
from tamis.language.joins import Signature, bind_joins
from tamis.schema import Schema, Table

# Labels of cells are spread evenly over any number of partitions that divides this: all up to 10, 12, 14, 15, 16, ...
_DIVISIBLE = 5040


@dataclass(frozen=True, slots=True)
class Placement:
    """Partitioning of some tables' rows over cells by the value of an attribute; or, without one, all rows in every
    cell.

    By an attribute, a cell serves all the subscriptions of the placement, for the rows that it has. Without one, it
    serves its share of the subscriptions, for all rows.
    """

    attribute: str | None
    tables: tuple[str, ...]

    def serves(self, signature: Signature) -> bool:
        """True if the rows of any result of such a join meet in a cell."""
        first, *others = signature.tables
        if not set(signature.tables) <= set(self.tables):
            return False
        return self.attribute is None or all(self.attribute in signature.between(first, other) for other in others)


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of a query: `parts` for each placement, numbered one placement after the other.

    A query's cells never change: rows are where they were put. So the choice is made once, and kept with the state.
    """

    placements: tuple[Placement, ...]
    parts: int

    @classmethod
    def for_signatures(cls, signatures: Iterable[Signature], schema: Schema, parts: int) -> Cells:
        """Cells for joins of these signatures, and of others as far as these serve them."""
        spread: dict[str, set[str]] = {}
        whole: set[str] = set()
        for signature in signatures:
            attribute = _spreading(signature, schema)
            tables = whole if attribute is None else spread.setdefault(attribute, set())
            tables |= set(signature.tables)
        return cls._of(spread, whole, schema, parts)

    @classmethod
    def for_schema(cls, schema: Schema, parts: int) -> Cells:
        """Cells for any joins that may come."""
        listing: dict[str, set[str]] = {}
        for table in schema.tables.values():
            for attribute in table.join:
                listing.setdefault(attribute, set()).add(table.name)
        listing = {attribute: tables for attribute, tables in listing.items() if len(tables) > 1}
        spread = {
            attribute: tables
            for attribute, tables in listing.items()
            if all(_spreads(schema.tables[table], attribute) for table in tables)
        }
        # Of one attribute all joins are on it; of several, some may be on the one and some on the other.
        enough = len(listing) == len(spread) == 1
        return cls._of(spread, set() if enough else set().union(*listing.values()), schema, parts)

    @classmethod
    def _of(cls, spread: Mapping[str, set[str]], whole: set[str], schema: Schema, parts: int) -> Cells:
        chosen: list[tuple[str | None, set[str]]] = [*spread.items(), *([(None, whole)] if whole else [])]
        placements = [
            Placement(attribute, tuple(table for table in schema.tables if table in tables))
            for attribute, tables in chosen
        ]
        return cls(tuple(placements), parts)

    def __len__(self) -> int:
        return len(self.placements) * self.parts

    @property
    def about(self) -> str:
        """Text by which saved state recognises its cells."""
        return json.dumps([self.parts, [[one.attribute, one.tables] for one in self.placements]])

    def labels(self) -> list[int]:
        """Label of each cell, which Spark groups by."""
        return _labels(len(self))

    def numbers(self) -> dict[int, int]:
        """Cells by their labels."""
        return {label: number for number, label in enumerate(self.labels())}

    def of_events(self, table: str, own: pa.RecordBatch) -> list[tuple[int, Int64s | None]]:
        """Cells that rows of a table go to, with the rows for each; None for all of them."""
        found: list[tuple[int, Int64s | None]] = []
        for number, placement in enumerate(self.placements):
            if table not in placement.tables:
                continue
            cells = range(number * self.parts, (number + 1) * self.parts)
            if placement.attribute is None:
                found += [(cell, None) for cell in cells]
            else:
                bucket = _buckets(own.column(placement.attribute), self.parts)
                found += [(cell, np.flatnonzero(bucket == place)) for place, cell in enumerate(cells)]
        return found

    def speaks_for(self, cell: int, table: str) -> bool:
        """True if this cell, of all that take an event of a table, reports its refusal."""
        placement, place = divmod(cell, self.parts)
        first = next(number for number, one in enumerate(self.placements) if table in one.tables)
        return placement == first and (place == 0 or self.placements[placement].attribute is not None)

    def of_subscriptions(self, texts: Mapping[str, str], schema: Schema) -> dict[int, dict[str, str]]:
        """Texts by the cells that serve them; -1 for those that none can serve."""
        found: dict[int, dict[str, str]] = {}
        ids = list(texts)
        for block in bind_joins(list(texts.values()), schema).blocks:
            signature = block.template.signature
            serving = [number for number, one in enumerate(self.placements) if one.serves(signature)]
            for row in block.rows.tolist():
                id = ids[row]
                for cell in self._serving(serving[0], id) if serving else (-1,):
                    found.setdefault(cell, {})[id] = texts[id]
        return found

    def _serving(self, placement: int, id: str) -> Iterable[int]:
        first = placement * self.parts
        if self.placements[placement].attribute is not None:
            return range(first, first + self.parts)
        return (first + crc32(id.encode()) % self.parts,)


def _spreading(signature: Signature, schema: Schema) -> str | None:
    """Attribute that all tables agree on, by whose value their rows can be partitioned."""
    first, *others = signature.tables
    for attribute in schema.tables[first].join:
        agreed = all(attribute in signature.between(first, other) for other in others)
        if agreed and all(_spreads(schema.tables[table], attribute) for table in signature.tables):
            return attribute
    return None


def _spreads(table: Table, attribute: str) -> bool:
    """True if the fate of a row depends only on rows with an equal value of the attribute.

    A key without it may come again with another value; retention looks at all rows of the table.
    """
    return (
        (not table.key or attribute in table.key) and table.retention.count is None and table.retention.window is None
    )


def _buckets(values: pa.Array, parts: int) -> Int64s:
    """Hash buckets: equal values have equal buckets, in any process."""
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    if pa.types.is_floating(values.type):
        values = pc.add(values, 0.0)  # there are two zeros, which are equal
    encoded = values.cast(pa.string()).dictionary_encode()
    known = [crc32(value.encode()) % parts for value in encoded.dictionary.to_pylist()]
    return np.array(known, np.int64)[encoded.indices.to_numpy(zero_copy_only=False)] if known else np.zeros(0, np.int64)


@lru_cache(maxsize=16)
def _labels(count: int) -> list[int]:
    """Numbers that Spark's hash sends to partitions in turn: cell c to partition c mod the number of partitions."""
    if count > _DIVISIBLE:
        raise PipelineError(f"there are {count} cells to hold tables in; ask for fewer parts")
    labels: dict[int, int] = {}
    first = 0
    while len(labels) < count:
        tried = np.arange(first, first + 100_000, dtype=np.uint32)
        place = _spark_hash(tried).astype(np.int64) % _DIVISIBLE
        for label, cell in zip(tried[place < count].tolist(), place[place < count].tolist(), strict=True):
            labels.setdefault(cell, label)
        first += len(tried)
    return [labels[cell] for cell in range(count)]


def _spark_hash(values: npt.NDArray[np.uint32]) -> npt.NDArray[np.int32]:
    """Hash by which Spark partitions integers: Murmur3 (x86, 32 bits) with the seed 42."""
    with np.errstate(over="ignore"):
        k = values * np.uint32(0xCC9E2D51)
        k = (k << np.uint32(15)) | (k >> np.uint32(17))
        h = np.uint32(42) ^ (k * np.uint32(0x1B873593))
        h = (h << np.uint32(13)) | (h >> np.uint32(19))
        h = h * np.uint32(5) + np.uint32(0xE6546B64)
        h ^= np.uint32(4)
        h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        return (h ^ (h >> np.uint32(16))).view(np.int32)
