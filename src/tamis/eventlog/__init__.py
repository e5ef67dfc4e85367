"""The event log between publishers and the pipeline: a spool folder, or a Kafka topic. Same questions, a URL changed.

log = open_log("spool:///var/lib/tamis/spool", write=True)      # or kafka://host:port/topic
"""

from tamis.eventlog.base.errors import EventTooLarge, IdempotencyConflict, NotAppended
from tamis.eventlog.base.event_log import EventLog
from tamis.eventlog.base.records import RECORDS, Receipt
from tamis.eventlog.open_log import open_log

__all__ = ["RECORDS", "EventLog", "EventTooLarge", "IdempotencyConflict", "NotAppended", "Receipt", "open_log"]
