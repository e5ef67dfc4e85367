"""What the tests of the pipeline process share: a state folder, and what the oracle says is to come of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.eventlog.spool import SpoolWriter
from tamis.service.base.configuration import Settings
from tamis.service.base.offering import serving_schema
from tamis.service.store import NewSubscription, Store, Subscription
from tamis.testing import reference_matches
from tamis.workloads.auction_lots import auction_schema, interests, lots

SCHEMA = serving_schema(auction_schema())
LATER = datetime.now(UTC) + timedelta(days=1)


class AuctionHouse:
    """A state folder as the service would leave it, and what ought to come of it.

    `subscribed` has the active filters by number, `due` the pairs of event id and number that must be notified.
    """

    def __init__(self, folder: Path, subscriptions: int = 0) -> None:
        self.settings = Settings(state=folder)
        self.store = Store.open(self.settings.store)
        self.store.schemas.add(auction_schema().to_dict())
        self._spool = SpoolWriter(folder / "spool")
        self._lots = lots(5)
        self.subscribed: dict[int, str] = {}
        self.due: Counter[tuple[str, int]] = Counter()
        self.published = 0
        for text in islice(interests(3), subscriptions):
            self.subscribe(text)

    def subscribe(self, text: str, **options: Any) -> Subscription:
        new = replace(NewSubscription(owner="", text=text, filter=text, expires=LATER), **options)
        made, _ = self.store.subscriptions.create(new)
        self.subscribed[made.number] = text
        return made

    def cancel(self, subscription: Subscription) -> None:
        self.store.subscriptions.cancel(subscription.id)
        del self.subscribed[subscription.number]

    def publish(self, count: int) -> None:
        """Lots that the present subscriptions are to be notified of."""
        self.publish_events(list(islice(self._lots, count)))

    def publish_events(self, events: Sequence[dict[str, Any]]) -> None:
        ids = self.publish_texts(json.dumps(event) for event in events)
        filters = {str(number): text for number, text in self.subscribed.items()}
        for id, matched in zip(ids, reference_matches(filters, SCHEMA, events), strict=True):
            self.due.update((id, int(number)) for number in matched)

    def publish_texts(self, texts: Iterable[str]) -> list[str]:
        bodies = list(texts)
        ids = [f"evt_{self.published + place}" for place in range(len(bodies))]
        self._spool.submit(pa.array(ids), pa.array(bodies), None).result()
        self.published += len(bodies)
        return ids

    @property
    def notified(self) -> Counter[tuple[str, int]]:
        """The pairs in the store, each as often as it is there."""
        notifications = self.store.notifications
        pairs = notifications.since(0, notifications.head(), 10_000_000)
        events = notifications.events(sorted({pair.position for pair in pairs}))
        return Counter((events[pair.position].id, pair.subscription) for pair in pairs)

    def close(self) -> None:
        self._spool.close()
        self.store.close()
