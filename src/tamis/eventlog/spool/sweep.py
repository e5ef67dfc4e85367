"""Letting go of old events: whole segments, from the oldest on."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from tamis.durable import flush
from tamis.eventlog.spool.segments import read_segment_header, remove_segment, segment_path, segments


def sweep(folder: str | Path, before: datetime, processed: int) -> int:
    """Removes segments of which every event was received before then and has a number below `processed`.

    Never the newest segment. Returns the number of events that went. With a segment go its idempotency keys, which a
    writer that runs still remembers, and the next one no longer.
    """
    folder = Path(folder)
    firsts = segments(folder)
    limit = int(before.timestamp() * 1e6)
    kept = 0
    for following in firsts[1:]:
        # A segment begins after the last event of the one before it was received.
        created = read_segment_header(segment_path(folder, following)).created
        if following > processed or created >= limit:
            break
        remove_segment(folder, firsts[kept])
        kept += 1
    if kept:
        flush(folder)
    return firsts[kept] - firsts[0] if firsts else 0
