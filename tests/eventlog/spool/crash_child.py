"""Appends for ever, and says what was acknowledged: to be killed at any moment.

python -m tests.eventlog.spool.crash_child <folder> <first number>      # a line an append: number, offset, count
"""

from __future__ import annotations

import os
import sys
import threading

from tamis.eventlog.spool import SpoolWriter
from tests.eventlog.spool.appended import bodies, ids

_THREADS = 3


def main(folder: str, start: str) -> None:
    # Small segments, so that many of the kills fall into the making of a new one.
    writer = SpoolWriter(folder, segment_bytes=20_000)
    threads = [threading.Thread(target=_append, args=(writer, int(start) + n), daemon=True) for n in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _append(writer: SpoolWriter, number: int) -> None:
    """Each append has a number of its own, which is its key and in its events."""
    while True:
        count = 1 + number % 7
        receipt = writer.submit(ids(number * 10, count), bodies(number * 10, count, number % 500), str(number)).result()
        # One write of one line: a kill leaves it whole or out.
        os.write(1, f"{number} {receipt.first} {receipt.count}\n".encode())
        number += _THREADS


if __name__ == "__main__":
    main(*sys.argv[1:])
