"""Subscribes and cancels until it is killed, in a process of its own, and says what the store has acknowledged.

python -m tests.service.store.restless <store>      # a JSON line for each acknowledgement
"""

from __future__ import annotations

import json
import sys

import pyarrow as pa

from tamis.service.store import Store, segments
from tests.service.store.made import CHEAP, LATER, recorded


def main(url: str) -> None:
    # Segments of any size are files, and a few become one: both happen all the time.
    segments._ROW, segments._FAN = 0, 3  # type: ignore[misc]
    store = Store.open(url)
    store.notifications.segments.tidy()
    turn = 0
    while True:
        turn += 1
        position = store.notifications.head() + 1
        made, ticket = store.subscriptions.create(CHEAP)
        _say("created", made.id, ticket)
        recorded(store, position, (position, made.number), (position, 1))
        _say("recorded", position)
        while store.notifications.segments.merge():
            _say("merged")
        if turn % 2:
            store.subscriptions.cancel(made.id)
            _say("cancelled", made.id)
        if turn % 5 == 0:
            rows = pa.table({"id": ["a", "b", "c"], "filter": ["price < 1"] * 3})
            store.subscriptions.import_table(rows, "importer", LATER, {"mode": "pull"})
            _say("imported", 3)


def _say(*words: object) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
