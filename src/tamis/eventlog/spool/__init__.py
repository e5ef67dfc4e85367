"""Spool: a write-ahead log of events in a folder. Durable, one writer, any number of readers.

    SpoolWriter(folder).submit(ids, bodies).result()      # on disk
    SpoolReader(folder).recent(10)

An append goes `spool_log → tail → segments, fsync → side_files (mark)`; a reader goes `side_files (mark, positions) →
segments (frames)`.
"""

from tamis.eventlog.spool.reader import SpoolReader
from tamis.eventlog.spool.segments import SpoolDamaged, SpoolError, sweep
from tamis.eventlog.spool.spool_log import SpoolWriter

__all__ = ["SpoolDamaged", "SpoolError", "SpoolReader", "SpoolWriter", "sweep"]
