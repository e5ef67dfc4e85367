"""The store's tables as this version has them; `migrations` brings a database to this state.

All in one `METADATA`. Numbers, positions and moments are 64 bits wide; documents are JSON text.
"""

from tamis.service.store.tables.base import METADATA
from tamis.service.store.tables.joins import CONTENTS, JOINED, TABLE_ARRIVALS, TABLE_ROWS
from tamis.service.store.tables.notifications import BATCHES, DELIVERIES, EVENTS, NOTIFICATIONS, PROGRESS
from tamis.service.store.tables.publishing import ADVERTISEMENTS, DEAD_LETTERS, SCHEMAS
from tamis.service.store.tables.subscriptions import COUNTERS, COUNTS, KEYS, SUBSCRIPTIONS
from tamis.service.store.tables.work import BACKTESTS

__all__ = [
    "ADVERTISEMENTS",
    "BACKTESTS",
    "BATCHES",
    "CONTENTS",
    "COUNTERS",
    "COUNTS",
    "DEAD_LETTERS",
    "DELIVERIES",
    "EVENTS",
    "JOINED",
    "KEYS",
    "METADATA",
    "NOTIFICATIONS",
    "PROGRESS",
    "SCHEMAS",
    "SUBSCRIPTIONS",
    "TABLE_ARRIVALS",
    "TABLE_ROWS",
]
