"""`content`: what join subscriptions have now, over tables in files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tamis.errors import PipelineError
from tamis.pipeline.frames import SUBSCRIPTION
from tamis.pipeline.indexes import Subscribed, opened_source
from tamis.pipeline.join import PARTS, join
from tamis.schema import EVENT_TYPE, OPERATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def content(
    tables: Mapping[str, DataFrame],
    subscriptions: Subscribed,
    *,
    order: str | None = None,
    parts: int = PARTS,
    folder: str | Path | None = None,
) -> DataFrame:
    """The results of all join subscriptions over tables as they are: a row a result, `subscription` and `row` (JSON).

    `tables` has a DataFrame for each table's name, whose columns are attributes; a table that is not there is empty.
    One job serves all subscriptions. `order` names a column by which the rows of a key follow each other, or by which
    retention counts, where either matters. Rows that break the schema are left out: `validate` tells of them.
    """
    source = opened_source(subscriptions)
    schema = source.schema
    unknown = [name for name in tables if name not in schema.tables]
    if unknown or not tables:
        raise PipelineError(
            f"there is no table {unknown[0] if unknown else ''!r} in the schema; there are {', '.join(schema.tables)}"
        )
    streaming = [name for name, frame in tables.items() if frame.isStreaming]
    if streaming:
        raise PipelineError(f"{streaming[0]!r} is a stream, which has no content yet; use pipeline.join")
    events: DataFrame | None = None
    for name, frame in tables.items():
        own = _rows(name, frame)
        events = own if events is None else events.unionByName(own, allowMissingColumns=True)
    assert events is not None
    return join(events, source, order=order, parts=parts, folder=folder).select(SUBSCRIPTION, "row")


def _rows(table: str, frame: DataFrame) -> DataFrame:
    """Rows as events that put them."""
    from pyspark.sql import functions

    clash = [name for name in frame.columns if name in (EVENT_TYPE, OPERATION)]
    rows = frame.drop(*clash) if clash else frame
    return rows.withColumn(EVENT_TYPE, functions.array(functions.lit(table)))
