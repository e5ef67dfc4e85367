"""The event log between publishers and the pipeline: a spool folder, or a Kafka topic. Same questions, a URL changed.

log = open_log("spool:///var/lib/tamis/spool", write=True)      # or kafka://host:port/topic
"""

from tamis.pipeline.spool import RECORDS, EventTooLarge, IdempotencyConflict, NotAppended, Receipt
from tamis.service.log.event_log import EventLog
from tamis.service.log.open_log import open_log

__all__ = ["RECORDS", "EventLog", "EventTooLarge", "IdempotencyConflict", "NotAppended", "Receipt", "open_log"]
