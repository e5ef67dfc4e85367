"""Statistics of past events, selectivities of predicates, and validation of events against the schema, on Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import StatisticsError
from tamis.matching.base.statistics import AttributeStatistics, Statistics
from tamis.pipeline.backtest import backtest
from tamis.pipeline.frames import (
    REASON,
    VIOLATIONS,
    attribute_columns,
    attribute_fields,
    kept_columns,
    mapped,
    text_column,
    violations_field,
)
from tamis.pipeline.workers.charging import legible
from tamis.pipeline.workers.inputs import Reader, canonical, partition
from tamis.schema import EVENT_TYPE, Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


SAMPLE = 50_000
# Share limit: a partition that has more than this many times its share of the sample lowers the sample.
_SLACK = 4
_LEAST = 1_000


@dataclass(frozen=True, slots=True)
class Surveyed:
    """Statistics of one partition: the number of events, how many have each attribute, and a sample.

    Every event draws a tag between 0 and 1; `sample` has those with the lowest, all of them below `below`.
    """

    events: int
    presence: dict[str, int]
    sample: pa.Table
    tags: npt.NDArray[np.float64]
    below: float


def statistics(events: DataFrame, schema: Schema, sample: int = SAMPLE, seed: int = 0) -> Statistics:
    """Statistics from one pass over all events: presence is exact, heavy values and quantiles are those of a uniform
    sample.

    Events with values of no domain are left out. Give the result to `compile`; `Statistics.save` keeps it.
    """
    from pyspark.sql.types import BinaryType, StructField

    columns = attribute_columns(events, schema)
    partitions = max(1, events.rdd.getNumPartitions())
    share = min(sample, max(_LEAST, _SLACK * sample // partitions))
    surveyor = _Surveyor(schema, tuple(columns), share, seed)
    answers = mapped(events, columns, surveyor.run, [StructField("survey", BinaryType())]).collect()
    surveys: list[Surveyed] = [pickle.loads(answer["survey"]) for answer in answers]
    total = sum(survey.events for survey in surveys)
    if not total:
        raise StatisticsError("there are no events to take statistics from")
    below = min(survey.below for survey in surveys)
    rows = [survey.sample.filter(pa.array(survey.tags < below)) for survey in surveys]
    sampled = Statistics.from_events(pa.concat_tables(rows, promote_options="default"))
    seen = {
        name: replace(
            sampled.attributes.get(name, AttributeStatistics(0.0)),
            presence=sum(survey.presence.get(name, 0) for survey in surveys) / total,
        )
        for name in schema.attributes
        # An event need not name its type where there is one: the attribute is then not absent, but understood.
        if name in sampled.attributes or name != EVENT_TYPE
    }
    return Statistics(total, seen)


def selectivities(events: DataFrame, predicates: Sequence[str], schema: Schema) -> dict[str, float]:
    """Selectivity of each predicate: the exact share of the events for which it holds."""
    found = backtest(events, {text: text for text in predicates}, schema, samples=0)
    try:
        if found.errors:
            raise found.errors[0][1]
        matched = {row["subscription"]: row["matches"] for row in found.totals.collect()}
        return {text: matched.get(text, 0) / max(1, found.events) for text in predicates}
    finally:
        found.close()


@dataclass(frozen=True, slots=True)
class _Surveyor:
    """Collects the statistics of a partition in a worker."""

    schema: Schema
    columns: tuple[str, ...]
    share: int
    seed: int

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        random = np.random.default_rng([self.seed, partition() or 0])
        presence = dict.fromkeys(self.schema.attributes, 0)
        sample, tags, below, seen = pa.table({}), np.zeros(0), 1.0, 0
        for batch in batches:
            events, rows = legible(self.schema, batch.rename_columns(list(self.columns)))
            seen += len(rows)
            for name, column in zip(events.schema.names, events.columns, strict=True):
                presence[name] += _present(column)
            drawn = random.random(len(rows))
            chosen = np.flatnonzero(drawn < below)
            sample = pa.concat_tables(
                [sample, pa.Table.from_batches([events.take(pa.array(chosen))])], promote_options="default"
            )
            tags = np.concatenate([tags, drawn[chosen]])
            if len(tags) > 2 * self.share:
                sample, tags, below = self._lowest(sample, tags, below)
        sample, tags, below = self._lowest(sample, tags, below)
        answer = pickle.dumps(Surveyed(seen, presence, sample, tags, below), protocol=5)
        yield pa.RecordBatch.from_arrays([pa.array([answer], pa.binary())], ["c0"])

    def _lowest(
        self, sample: pa.Table, tags: npt.NDArray[np.float64], below: float
    ) -> tuple[pa.Table, npt.NDArray[np.float64], float]:
        if len(tags) <= self.share:
            return sample, tags, below
        below = float(np.partition(tags, self.share)[self.share])
        lowest = np.flatnonzero(tags < below)
        return sample.take(pa.array(lowest)), tags[lowest], below


def _present(column: pa.Array) -> int:
    if pa.types.is_list(column.type):
        return int(pc.sum(pc.greater(pc.list_value_length(column), 0)).as_py() or 0)
    return len(column) - column.null_count


# Validation: events that satisfy the schema, and dead letters with the reasons.


class Validated(NamedTuple):
    """Result of a validation: every row of the input is in exactly one of the two frames. `dead` has the row as it
    came, `violations` (attribute, rule, value and message of each fault) and `reason`, the messages in one text.
    """

    valid: DataFrame
    dead: DataFrame


def validate(events: DataFrame, schema: Schema, json: str | None = None, *, ignore_unknown: bool = False) -> Validated:
    """Validates events against R1–R3 and their attributes' domains; batch or streaming.

    With `json`, that column holds JSON texts, one event each (strings or bytes, as from text files or Kafka); `valid`
    then has the attributes as columns in place of the text. A text with names that the schema does not have is dead,
    unless `ignore_unknown`. Columns that are no attributes are passed through.

    The two frames are computed apart, each by a pass over the events; `stream` makes both of one pass.
    """
    read = attribute_columns(events, schema) if json is None else [text_column(events, json)]
    parsed = [] if json is None else attribute_fields(schema)
    columns = kept_columns(events, None, [VIOLATIONS, REASON])
    kept = [name for name in columns if name != json]
    kept_columns(events, kept, [field.name for field in parsed])
    reader = Reader(schema, tuple(map(columns.index, read)), tuple(read), True, json is not None, ignore_unknown)
    valid = mapped(
        events,
        columns,
        _Checker(reader, tuple(map(columns.index, kept))).valid,
        [*(events.schema[name] for name in kept), *parsed],
    )
    everything = tuple(range(len(columns)))
    dead = mapped(events, columns, _Checker(reader, everything).dead, [*events.schema.fields, violations_field()])
    return Validated(valid, with_reason(dead))


def with_reason(dead: DataFrame) -> DataFrame:
    """Adds the messages of a row's violations as one text."""
    from pyspark.sql import functions

    return dead.withColumn(REASON, functions.array_join(functions.col(VIOLATIONS)["message"], "; "))


@dataclass(frozen=True, slots=True)
class _Checker:
    """Validates batches in a worker: returns the valid rows, or the dead ones."""

    reader: Reader
    kept: tuple[int, ...]

    def valid(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            read = self.reader.read(batch)
            rows = None if len(read.rows) == batch.num_rows else pa.array(read.rows)
            columns = [batch.column(place) if rows is None else batch.column(place).take(rows) for place in self.kept]
            if self.reader.json:
                columns += canonical(self.reader.schema, read.events)
            yield _batch(columns)

    def dead(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            read = self.reader.read(batch)
            rows = pa.array(read.dead)
            yield _batch([column.take(rows) for column in (*map(batch.column, self.kept), read.violations)])


def _batch(columns: list[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(columns, [f"c{place}" for place in range(len(columns))])
