"""The schema that events are served under, as delivery needs it."""

from __future__ import annotations

from threading import Lock

from tamis.schema import Schema
from tamis.service.serving_schema import serving_schema
from tamis.service.store import Store


class ServedSchema:
    """The store's newest schema when it was last asked for.

    An extension only adds, so an older one explains every filter that it can read; `read` is for the others. Safe from
    any thread.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._version = 0
        self._schema: Schema | None = None

    @property
    def now(self) -> Schema:
        """The schema as far as it is known."""
        return self._schema if self._schema is not None else self.read()

    def read(self) -> Schema:
        """The newest one in the store."""
        with self._lock:
            version, form = self._store.schemas.current() or (0, None)
            if self._schema is None or version != self._version:
                self._schema = serving_schema(None if form is None else Schema.from_dict(form))
                self._version = version
            return self._schema
