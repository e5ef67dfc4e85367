"""Names for events and notifications that come out the same however often a batch is run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tamis.errors import PipelineError
from tamis.pipeline.frames import SUBSCRIPTION, places, plainly

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENT_KEY = "event_key"
NOTIFICATION = "notification"

_LETTERS = 32


def with_event_key(events: DataFrame, key: Sequence[str] | None = None) -> DataFrame:
    """Adds `event_key`, a hash of the columns that tell an event from others: all of them unless `key` names some.

    Two events with equal keys are one and the same to whoever drops repeats. Where equal events can happen and must be
    told apart, name columns that differ: Kafka's topic, partition and offset, or an id that the publisher gives.
    """
    from pyspark.sql import functions

    names = events.columns if key is None else list(key)
    unknown = [name for name in names if name not in events.columns]
    if unknown or not names:
        raise PipelineError(
            f"no column {unknown[0] if unknown else ''!r} to know an event by; there are {events.columns}"
        )
    known_by = [functions.col(place).alias(name) for place, name in zip(places(events, names), names, strict=True)]
    hashed = functions.sha2(functions.to_json(functions.struct(*known_by)), 256)
    keyed = plainly(events).withColumn(EVENT_KEY, functions.substring(hashed, 1, _LETTERS))
    return keyed.toDF(*events.columns, EVENT_KEY)


def with_notification(pairs: DataFrame) -> DataFrame:
    """Adds `notification`: the event's key, a colon, the subscription's id."""
    from pyspark.sql import functions

    return pairs.withColumn(NOTIFICATION, functions.concat_ws(":", EVENT_KEY, SUBSCRIPTION))
