"""Subscriptions that come and change while others are being served."""

from __future__ import annotations

from typing import Final

from tamis.service.store import Store, Subscription

_PAGE: Final = 1_000
_CHANGES: Final = 20_000


class Changes:
    """Follows the store's revisions. One thread at a time.

    A subscription's number is the revision that it was made under. So those that are pushed to are found by their
    numbers, each once, and nobody looks twice at the many that are pulled.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revision = 0
        self._seen = 0

    def start(self) -> None:
        """Changes count from now on."""
        self._revision = self._store.subscriptions.revision

    def find_all(self) -> None:
        """Those that are pushed to are found once more, from the first on."""
        self._seen = 0

    def pushed(self) -> list[Subscription]:
        """Some subscriptions with a webhook or a topic that were not seen before; empty if there are no more."""
        newest = self._store.subscriptions.revision
        if newest == self._seen:
            return []
        found = self._store.subscriptions.pushed(self._seen, _PAGE)
        self._seen = found[-1].number if len(found) == _PAGE else newest
        return found

    def changed(self) -> set[int]:
        """The numbers of subscriptions changed since the last time, but for new ones."""
        numbers: set[int] = set()
        newest = self._store.subscriptions.revision
        while self._revision < newest:
            rows = self._store.subscriptions.changes(self._revision, _CHANGES)
            numbers.update(row.number for row in rows if row.number != row.revision)
            self._revision = rows[-1].revision if rows else newest
        return numbers
