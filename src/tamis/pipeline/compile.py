"""`compile`: subscriptions parsed in parallel on Spark, and put together into one index on the driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from tamis.engine import Index, Operators, compiled
from tamis.errors import FilterError, TamisError
from tamis.language import DEFAULT_LIMITS, NO_OPERATORS, Bound, Signatures, bind
from tamis.matching.matcher import Subscriptions
from tamis.matching.matchers import MATCHERS
from tamis.matching.statistics import Statistics
from tamis.matching.taking_in import BoundSubscriptions
from tamis.operators.calling_part import calling_part as new_calling_part
from tamis.operators.part import CallingPart
from tamis.pipeline.bound import joined_bounds, only_rows
from tamis.pipeline.frames import mapped
from tamis.pipeline.subscriptions import require_columns, sifted
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


def compile(
    subscriptions: DataFrame,
    schema: Schema,
    statistics: Statistics | None = None,
    operators: Operators | None = None,
    schedule: str = "adaptive",
) -> tuple[Index, DataFrame]:
    """Compiles a DataFrame with the string columns `id` and `filter`; filters may call the `operators`.

    A subscription that cannot be taken (its filter is refused, its id is missing or there twice) does not stop the
    others: it comes back in the second table, under its id. There `error` is the kind of error, and where a filter was
    refused, its characters from `start` to `end` are at fault.
    """
    calling = calling_part(operators, schema, statistics, schedule)
    rows, bound, refused = bind_frame(subscriptions, schema, calling)
    index = build(rows, bound, schema, statistics, calling)
    return index, error_table(subscriptions.sparkSession, [*refused, *index.errors])


def calling_part(
    operators: Operators | None, schema: Schema, statistics: Statistics | None = None, schedule: str = "adaptive"
) -> CallingPart | None:
    """What is to take those that call operators; None where there are none to call."""
    if operators is None:
        return None
    return new_calling_part(operators, schema, DEFAULT_LIMITS, schedule, statistics=statistics)


def bind_frame(
    subscriptions: DataFrame, schema: Schema, calling: CallingPart | None = None
) -> tuple[pa.Table, Bound, list[tuple[str, TamisError]]]:
    """The subscriptions with a usable id (columns id and filter), what the language made of them, and the others."""
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
    rows: pa.Table, bound: Bound, schema: Schema, statistics: Statistics | None, calling: CallingPart | None = None
) -> Index:
    """An index of bound subscriptions; `calling`, which is empty yet, takes those that call operators."""
    ids, filters = (rows[name].combine_chunks() for name in ("id", "filter"))
    new = BoundSubscriptions(Subscriptions(ids, filters, bound))
    return compiled(new, schema, MATCHERS["columnar"].build(new.plain, schema, statistics), calling=calling)


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
    """What a worker does: binds a batch of texts, and sends the ids, the texts and what became of them, pickled."""

    schema: Schema
    signatures: Signatures

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts = batch.rename_columns(["id", "filter"]).cast(COLUMNS)
            answer = pickle.dumps(
                (texts, bind(texts.column("filter"), self.schema, operators=self.signatures)), protocol=5
            )
            yield pa.RecordBatch.from_arrays([pa.array([answer], pa.binary())], ["c0"])
