"""The spool: a folder that holds events until they are matched. Durable, one writer, any number of readers.

    SpoolWriter(folder).submit(ids, bodies).result()      # on disk
    SpoolReader(folder).recent(10)

An append goes `writer → tail → frames → segment, fsync → mark`; a reader goes `mark → segments → positions → frames`.
"""

from tamis.eventlog.base.errors import EventTooLarge, IdempotencyConflict, NotAppended, SpoolDamaged, SpoolError
from tamis.eventlog.base.records import RECORDS, Receipt
from tamis.eventlog.spool.reader import SpoolReader
from tamis.eventlog.spool.sweep import sweep
from tamis.eventlog.spool.writer import SpoolWriter

__all__ = [
    "RECORDS",
    "EventTooLarge",
    "IdempotencyConflict",
    "NotAppended",
    "Receipt",
    "SpoolDamaged",
    "SpoolError",
    "SpoolReader",
    "SpoolWriter",
    "sweep",
]
