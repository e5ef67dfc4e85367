"""The schema that a process serves events under, followed in the store."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from tamis.schema import Schema
from tamis.service.base.offering import serving_schema
from tamis.service.store.store import Store


class FollowedSchema:
    """The store's newest schema as it was when last read: its version, 0 where there is none, and the serving schema.

    Both are replaced at once, so whoever needs them together takes them from `serving`. An extension only adds: an
    older schema reads every filter and event of its time as newer ones do. Safe from any thread.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        version, form = store.schemas.current() or (0, None)
        # The version, and the serving schema: the user's, extended by what CloudEvents carry.
        self.serving: tuple[int, Schema] = (
            version,
            serving_schema(None if form is None else Schema.from_dict(form)),
        )

    @property
    def version(self) -> int:
        return self.serving[0]

    @property
    def schema(self) -> Schema:
        """The serving schema."""
        return self.serving[1]

    def refresh(self) -> bool:
        """Takes over what another thread or process has put into the store; False if there was nothing new."""
        with self._lock:
            if self._store.schemas.newest() == self.serving[0]:
                return False
            version, form = self._store.schemas.current() or (0, None)
            self.serving = version, serving_schema(None if form is None else Schema.from_dict(form))
            return True

    def grow(self, larger: Callable[[int, Schema], Schema]) -> bool:
        """Puts what `larger` makes of the store's schema into the store; False if that adds nothing.

        It is given the newest version and the user's schema; where there is none, 0 and the serving schema with its
        single event type. StoreError: another process was quicker, and `larger` has to see what that one made.
        """
        with self._lock:
            version, form = self._store.schemas.current() or (0, None)
            known = serving_schema(None) if form is None else Schema.from_dict(form)
            grown = larger(version, known)
            serving = serving_schema(grown)
            if grown == known:
                self.serving = version, serving
                return False
            self.serving = self._store.schemas.add(grown.to_dict(), after=version), serving
            return True
