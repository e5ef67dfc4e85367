"""The spool: a folder that holds events until they are matched. Durable, one writer, any number of readers.

    SpoolWriter(folder).submit(ids, bodies).result()      # on disk
    SpoolReader(folder).recent(10)
    read_spool(session, folder)                           # a stream for Spark

An append goes `writer → tail → frames → segment, fsync → mark`; a reader goes `mark → segments → positions → frames`.
Nothing here needs Spark but `read_spool`.
"""

from tamis.pipeline.spool.errors import EventTooLarge, IdempotencyConflict, NotAppended, SpoolDamaged, SpoolError
from tamis.pipeline.spool.read_spool import read_spool
from tamis.pipeline.spool.reader import SpoolReader
from tamis.pipeline.spool.records import RECORDS, Receipt
from tamis.pipeline.spool.sweep import sweep
from tamis.pipeline.spool.writer import SpoolWriter

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
    "read_spool",
    "sweep",
]
