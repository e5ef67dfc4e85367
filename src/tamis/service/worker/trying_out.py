"""A made-up event put through all that a real one goes through, and thrown away.

The first micro-batch would otherwise wait for Spark to start the processes that plan, read and match, and for each of
them to open the table.
"""

from __future__ import annotations

import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from tamis.eventlog import EventLog
from tamis.pipeline.frames import sieved
from tamis.pipeline.sources import read_log
from tamis.pipeline.table.subscriptions import Snapshot
from tamis.schema import EVENT_TYPE, Schema
from tamis.schema.domains import EnumeratedDomain, HierarchicalDomain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VALUES: Final = {
    "integer": 1,
    "float": 1.5,
    "string": "",
    "boolean": True,
    "timestamp": "2000-01-01T00:00:00Z",
    "binary": "",
}


def try_out(spark: SparkSession, log: EventLog, subscriptions: Snapshot) -> None:
    """Reads something of the log, if there is anything, and matches one event a core. What fails is only told."""
    try:
        read_log(spark, log, stream=False).limit(1).toArrow()
        _match(spark, subscriptions)
    except Exception:  # noqa: BLE001 - if it matters, the first batch fails too, and says so
        traceback.print_exc()


def _match(spark: SparkSession, subscriptions: Snapshot) -> None:
    from pyspark.sql.functions import lit

    cores = spark.sparkContext.defaultParallelism
    body = orjson.dumps(made_up_event(subscriptions.schema)).decode()
    events = spark.range(0, cores, 1, cores).withColumn("body", lit(body))
    if (crew := subscriptions.crew) is not None:
        # Operators are called, so that they are loaded; what they make of it is told to nobody.
        subscriptions = replace(subscriptions, crew=replace(crew, ledger=""))
    sieved(
        events, subscriptions, keep=["id"], every=False, check=True, json="body", ignore_unknown=True, attributes=False
    ).toArrow()


def made_up_event(schema: Schema) -> dict[str, Any]:
    """A valid event of the schema's first type, with every attribute that it may have."""
    first = next(iter(schema.event_types.values()))
    event: dict[str, Any] = {EVENT_TYPE: [first.name]}
    for name, annotation in first.annotations.items():
        domain = schema.attributes[name].domain
        value: Any = _VALUES.get(domain.kind)
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            value = domain.values[0]
        event[name] = [value] if annotation.multiple else value
    return event
