"""The schema that events are served under, as the store has it."""

from __future__ import annotations

from tamis.schema import Schema
from tamis.service.serving_schema import serving_schema
from tamis.service.store import Store


def current_schema(store: Store) -> tuple[int, Schema]:
    """The newest schema and its version; version 0 where none was ever given."""
    found = store.schemas.current()
    if found is None:
        return 0, serving_schema(None)
    version, form = found
    return version, serving_schema(Schema.from_dict(form))


def newer_schema(store: Store, version: int) -> tuple[int, Schema] | None:
    """The newest schema, if it is not of this version."""
    found = store.schemas.current()
    if found is None or found[0] == version:
        return None
    return found[0], serving_schema(Schema.from_dict(found[1]))
