"""Changes of contents as rows: whose, whether added or removed, the result as JSON, and the event that did it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int64s
from tamis.joins.arrivals import Showing, Shown
from tamis.joins.server import Applied, JoinServer
from tamis.language.joins import parse_join
from tamis.pipeline.joining.packing import DEAD, ORDER, from_blob, json_texts
from tamis.schema import Schema

CHANGES = pa.schema(
    [
        ("subscription", pa.string()),
        ("change", pa.string()),
        ("row", pa.string()),
        (ORDER, pa.int64()),
        ("nth", pa.int32()),
    ]
)
_UNNUMBERED = pa.schema(list(CHANGES)[:4])
ADDED = "added"

_ROWS = 20_000  # at a time: Spark takes some while the next are made
_BATCH = pa.field("batch", pa.int64())
_CHANGES = pa.schema([_BATCH, *CHANGES])
_ALL = pa.schema([*_CHANGES, *(field for field in DEAD if field.name not in CHANGES.names)])


def row_changes(server: JoinServer, applied: Applied, order: Int64s, without: Mapping[str, object]) -> pa.Table:
    """Changes of a batch, but for some subscriptions. `order` has the numbers of the batch's events."""
    tables = []
    for told in server.results(applied).tables:
        kept = told
        if without:
            kept = told.filter(pc.invert(pc.is_in(told["subscription"].cast(pa.string()), pa.array(list(without)))))
        texts = json_texts(kept["row"].combine_chunks())
        columns = [kept["subscription"], kept["change"], texts, pa.array(order[kept["event"].to_numpy()])]
        tables.append(pa.table(columns, names=_UNNUMBERED.names).cast(_UNNUMBERED))
    return numbered(tables)


def contents(server: JoinServer, ids: Iterable[str], order: int | None) -> pa.Table:
    """All that subscriptions have, as added."""
    tables = []
    for id in ids:
        rows = server.content(id)
        if rows:
            tables.append(_table(id, ADDED, rows, order, server))
    return numbered(tables)


def numbered(tables: list[pa.Table]) -> pa.Table:
    """The tables together; of changes that are alike each has its number, so that they can be told apart."""
    table = pa.concat_tables(tables).combine_chunks() if tables else CHANGES.empty_table()
    if not table.num_rows:
        return CHANGES.empty_table()
    codes = [table[name].combine_chunks().dictionary_encode().indices.to_numpy() for name in CHANGES.names[:3]]
    alike = codes[0].astype(np.int64) * (int(codes[2].max()) + 1) * 2 + codes[2].astype(np.int64) * 2 + codes[1]
    nth = np.zeros(len(alike), np.int32)
    if len(np.unique(alike)) < len(alike):
        sequence = table[ORDER].fill_null(-1).to_numpy()
        by = np.lexsort((sequence, alike))
        begins = np.ones(len(by), np.bool_)
        begins[1:] = (np.diff(alike[by]) != 0) | (np.diff(sequence[by]) != 0)
        first = np.maximum.accumulate(np.where(begins, np.arange(len(by)), 0))
        nth[by] = np.arange(len(by)) - first
    return table.append_column(CHANGES.field("nth"), pa.array(nth))


def _table(id: str, change: str, rows: list[Shown], order: int | None, server: JoinServer) -> pa.Table:
    texts = json_texts(_structs(rows, server.text(id), server.schema))
    columns = [
        pa.array([id] * len(rows), pa.string()),
        pa.array([change] * len(rows), pa.string()),
        texts,
        pa.array([order] * len(rows), pa.int64()),
    ]
    return pa.Table.from_arrays(columns, schema=_UNNUMBERED)


def _structs(rows: list[Shown], text: str, schema: Schema) -> pa.StructArray:
    join = parse_join(text, schema)
    labels = Showing(join.signature, join.columns, schema).labels
    return pa.array(
        rows, pa.struct([(label, schema.attributes[name].arrow_type) for label, (_, name) in labels.items()])
    )


@dataclass(frozen=True, slots=True)
class Unpacker:
    """Answers in, rows of changes out, or with `dead` those of dead letters too; a row has nulls where the other has
    its columns."""

    dead: bool

    @property
    def columns(self) -> pa.Schema:
        """Of the rows."""
        return _ALL if self.dead else _CHANGES

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, changes, dead in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                for blob in (changes, dead if self.dead else None):
                    if blob is not None:
                        yield from self._rows(from_blob(blob), number)

    def _rows(self, table: pa.Table, number: int) -> Iterator[pa.RecordBatch]:
        for piece in table.to_batches(max_chunksize=_ROWS):
            there = {_BATCH.name: pa.repeat(pa.scalar(number, pa.int64()), piece.num_rows)}
            there |= dict(zip(piece.schema.names, piece.columns, strict=True))
            arrays = [
                there[field.name] if field.name in there else pa.nulls(piece.num_rows, field.type)
                for field in self.columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.columns)
