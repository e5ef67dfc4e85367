"""Compilation of subscriptions on Spark: texts are parsed in parallel by workers, and joined into one index on the
driver.

Workers bind the texts; bound filters are pickled on their way, and joined on the driver.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engine import Index, Operators, compiled
from tamis.errors import FilterError, TamisError
from tamis.language import DEFAULT_LIMITS, NO_OPERATORS, Block, Bound, CalledBlock, Filter, Signatures, bind
from tamis.language.cutting import Column
from tamis.matching.base.matcher import Subscriptions
from tamis.matching.base.statistics import Statistics
from tamis.matching.matchers import COLUMNAR, Choice
from tamis.matching.taking_in import BoundSubscriptions
from tamis.operators.matcher import calling_part as new_calling_part
from tamis.operators.part import CallingPart
from tamis.pipeline.frames import mapped
from tamis.pipeline.table.subscriptions import require_columns, sifted
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = pa.schema([pa.field("id", pa.string()), pa.field("filter", pa.string())])
_ERRORS = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("id", "filter", "error", "message")),
        *(pa.field(name, pa.int32()) for name in ("start", "end")),
    ]
)

AnyBlock = TypeVar("AnyBlock", Block, CalledBlock)
Form: TypeAlias = tuple[Filter, tuple[Any, ...]]
"""A template, and the types of the columns beside it. Texts of different shapes may come to one template: what is
redundant, or contradicts itself, leaves no slot in it, yet each shape has a column for each of its own literals."""


def compile(
    subscriptions: DataFrame,
    schema: Schema,
    statistics: Statistics | None = None,
    operators: Operators | None = None,
    schedule: str = "adaptive",
    matcher: str = "columnar",
    options: Mapping[str, Any] | None = None,
) -> tuple[Index, DataFrame]:
    """Compiles a DataFrame with the string columns `id` and `filter`; filters may call the `operators`.

    `matcher`, its `options` and `schedule` are those of `tamis.compile`.

    A refused subscription (its filter is invalid, its id is missing or there twice) does not stop the others: the
    second table has it under its id. There `error` is the kind of error, and where a filter was refused, its characters
    from `start` to `end` are at fault.
    """
    choice = Choice.of(matcher, options)
    calling = calling_part(operators, schema, statistics, schedule, choice)
    rows, bound, refused = bind_frame(subscriptions, schema, calling)
    index = build(rows, bound, schema, statistics, calling, choice)
    return index, error_table(subscriptions.sparkSession, [*refused, *index.errors])


def calling_part(
    operators: Operators | None,
    schema: Schema,
    statistics: Statistics | None = None,
    schedule: str = "adaptive",
    choice: Choice = COLUMNAR,
) -> CallingPart | None:
    """Index part for filters that call operators; None if there are no operators."""
    if operators is None:
        return None
    return new_calling_part(operators, schema, DEFAULT_LIMITS, schedule, choice.matcher, statistics)


def bind_frame(
    subscriptions: DataFrame, schema: Schema, calling: CallingPart | None = None
) -> tuple[pa.Table, Bound, list[tuple[str, TamisError]]]:
    """Subscriptions with a usable id (columns id and filter), their bound filters, and the others."""
    from pyspark.sql.types import BinaryType, StructField

    require_columns(subscriptions.columns)
    texts = subscriptions.selectExpr("CAST(id AS STRING) id", "CAST(filter AS STRING) filter")
    cores = subscriptions.sparkSession.sparkContext.defaultParallelism
    if texts.rdd.getNumPartitions() < cores:
        texts = texts.repartition(cores)
    signatures = NO_OPERATORS if calling is None else calling.signatures
    answers = mapped(
        texts, ["id", "filter"], _Binder(schema, signatures).run, [StructField("bound", BinaryType())]
    ).collect()
    pieces: list[tuple[pa.RecordBatch, Bound]] = [pickle.loads(answer["bound"]) for answer in answers]
    listed = sifted(pa.Table.from_batches([batch for batch, _ in pieces], COLUMNS))
    bound = joined_bounds([bound for _, bound in pieces])
    return listed.rows, only_rows(bound, listed.places) if listed.refused else bound, listed.refused


def build(
    rows: pa.Table,
    bound: Bound,
    schema: Schema,
    statistics: Statistics | None,
    calling: CallingPart | None = None,
    choice: Choice = COLUMNAR,
) -> Index:
    """Builds an index of bound subscriptions; `calling`, still empty, takes those that call operators."""
    ids, filters = (rows[name].combine_chunks() for name in ("id", "filter"))
    new = BoundSubscriptions(Subscriptions(ids, filters, bound))
    return compiled(new, schema, choice.build(new.plain, schema, statistics), calling=calling)


def error_table(session: SparkSession, errors: Sequence[tuple[str, TamisError]]) -> DataFrame:
    """Refused subscriptions as a DataFrame."""
    rows = [_row(id, error) for id, error in errors]
    return session.createDataFrame(pa.Table.from_pylist(rows, _ERRORS))


def _row(id: str, error: TamisError) -> dict[str, object]:
    row: dict[str, object] = {"id": id, "error": type(error).__name__, "message": str(error)}
    if isinstance(error, FilterError):
        row |= {"message": error.message, "filter": error.text, "start": error.start, "end": error.end}
    return row


@dataclass(frozen=True, slots=True)
class _Binder:
    """Binds a batch of texts in a worker, and returns the ids, the texts and their bound forms, pickled."""

    schema: Schema
    signatures: Signatures

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts = batch.rename_columns(["id", "filter"]).cast(COLUMNS)
            answer = pickle.dumps(
                (texts, bind(texts.column("filter"), self.schema, operators=self.signatures)), protocol=5
            )
            yield pa.RecordBatch.from_arrays([pa.array([answer], pa.binary())], ["c0"])


def joined_bounds(parts: Sequence[Bound]) -> Bound:
    """Concatenates the parts; plain blocks of one shape become one."""
    blocks: dict[Form, list[Block]] = {}
    terms: dict[Form, list[Block]] = {}
    whole = Bound(sum(part.count for part in parts))
    first = 0
    for part in parts:
        for found, given in ((blocks, part.blocks), (terms, part.terms)):
            for block in given:
                found.setdefault(_form(block), []).append(replace(block, rows=block.rows + first))
        # Not joined: equal templates may differ in what their texts call the variables.
        whole.called.extend(replace(block, rows=block.rows + first) for block in part.called)
        whole.errors.extend((row + first, error) for row, error in part.errors)
        first += part.count
    whole.blocks.extend(_joined_blocks(same) for same in blocks.values())
    whole.terms.extend(_joined_blocks(same) for same in terms.values())
    return whole


def only_rows(bound: Bound, kept: npt.NDArray[np.int64]) -> Bound:
    """Selects these rows (ascending), numbered anew."""
    place = np.full(bound.count, -1, np.int64)
    place[kept] = np.arange(len(kept))
    fewer = Bound(len(kept))
    fewer.blocks.extend(_only(bound.blocks, place))
    fewer.terms.extend(_only(bound.terms, place))
    fewer.called.extend(_only(bound.called, place))
    fewer.errors.extend((int(place[row]), error) for row, error in bound.errors if place[row] >= 0)
    return fewer


def _only(blocks: Sequence[AnyBlock], place: npt.NDArray[np.int64]) -> Iterator[AnyBlock]:
    """The rows that have a place, there."""
    for block in blocks:
        chosen = np.flatnonzero(place[block.rows] >= 0)
        if len(chosen):
            columns = tuple(column.take(chosen) for column in block.columns)
            yield replace(block, rows=place[block.rows[chosen]], columns=columns)


def _form(block: Block) -> Form:
    types = (column.type if isinstance(column, pa.Array) else column.dtype for column in block.columns)
    return block.template, tuple(types)


def _joined_blocks(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    rows = np.concatenate([block.rows for block in blocks])
    columns = zip(*(block.columns for block in blocks), strict=True)
    return Block(rows, blocks[0].template, tuple(_joined_columns(column) for column in columns))


def _joined_columns(columns: Sequence[Column]) -> Column:
    if isinstance(columns[0], pa.Array):
        return pa.concat_arrays(columns)
    return np.concatenate(columns)
