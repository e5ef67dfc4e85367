"""Tamis on Spark: sources, validation, matching, changing subscriptions, joins, statistics, backtests, sinks.

    from tamis import pipeline
    pipeline.match(events, index)

Nothing here starts Spark before it is asked to; without PySpark or Java, `session` says in one line what is missing.
"""

from tamis.pipeline.analyze import analyze
from tamis.pipeline.backtest import Backtest, backtest
from tamis.pipeline.compile import compile
from tamis.pipeline.events import Validated, selectivities, statistics, validate
from tamis.pipeline.indexes import Cut, Shards, Subscribed, shard
from tamis.pipeline.join import content, join, join_stream
from tamis.pipeline.kafka import KAFKA_KEY, read_kafka, to_kafka
from tamis.pipeline.match import match, numbering, with_event_key
from tamis.pipeline.session import session
from tamis.pipeline.sources import read_json_lines, read_parquet, read_spool
from tamis.pipeline.stream import stream, to_files
from tamis.pipeline.table.subscription_table import Change, SubscriptionTable

__all__ = [
    "KAFKA_KEY",
    "Backtest",
    "Change",
    "Cut",
    "Shards",
    "Subscribed",
    "SubscriptionTable",
    "Validated",
    "analyze",
    "backtest",
    "compile",
    "content",
    "join",
    "join_stream",
    "match",
    "numbering",
    "read_json_lines",
    "read_kafka",
    "read_parquet",
    "read_spool",
    "selectivities",
    "session",
    "shard",
    "statistics",
    "stream",
    "to_files",
    "to_kafka",
    "validate",
    "with_event_key",
]
