"""The spool: a folder that holds events until they are matched. Durable, one writer, any number of readers.

    SpoolWriter(folder).submit(ids, bodies).result()      # on disk
    SpoolReader(folder).recent(10)

An append goes `writer → tail → frames → segment, fsync → mark`; a reader goes `mark → segments → places → frames`.
"""

from tamis.eventlog.spool.reader import SpoolReader
from tamis.eventlog.spool.segments import SpoolDamaged, SpoolError, sweep
from tamis.eventlog.spool.spool_log import SpoolWriter

__all__ = ["SpoolDamaged", "SpoolError", "SpoolReader", "SpoolWriter", "sweep"]
