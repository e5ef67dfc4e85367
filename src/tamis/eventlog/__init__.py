"""Durable log of events, between publishers and matching: a spool folder, or a Kafka topic, behind one protocol.

log = open_log("spool:///var/lib/tamis/spool", write=True)      # or kafka://host:port/topic

Needs neither Spark nor a web framework; a topic needs aiokafka once it is opened. Spark reads any log by
`tamis.pipeline.sources.read_log`.
"""

from tamis.eventlog.base.event_log import (
    RECORDS,
    EventLog,
    EventTooLarge,
    IdempotencyConflict,
    NotAppended,
    Receipt,
)
from tamis.eventlog.open_log import open_log

__all__ = ["RECORDS", "EventLog", "EventTooLarge", "IdempotencyConflict", "NotAppended", "Receipt", "open_log"]
