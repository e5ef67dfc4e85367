"""The schema file of a server's start, set against the schema that its store has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tamis.errors import SchemaError
from tamis.schema import Schema
from tamis.service.serving_schema import serving_schema
from tamis.service.store import Store, StoreError


def settle_schema(store: Store, path: Path | None) -> tuple[int, Schema]:
    """The serving schema and its version. The file counts at the first start, and later if it extends what is there.

    A file that the server's schema extends is an older one, and changes nothing.
    """
    try:
        return _settled(store, path)
    except StoreError:
        # Another service of this store started at the same moment, and its file came first.
        return _settled(store, path)


def _settled(store: Store, path: Path | None) -> tuple[int, Schema]:
    found = store.schemas.current()
    if path is not None:
        given = Schema.load(path)
        serving_schema(given)  # complains where it is at odds with what CloudEvents carry
        if found is None:
            found = store.schemas.add(given.to_dict(), after=0), given.to_dict()
        else:
            found = _extended(store, *found, given, path)
    if found is None:
        return 0, serving_schema(None)
    return found[0], serving_schema(Schema.from_dict(found[1]))


def _extended(
    store: Store, version: int, form: dict[str, Any], given: Schema, path: Path
) -> tuple[int, dict[str, Any]]:
    current = Schema.from_dict(form)
    extended = _extension(current, given)
    if extended is None:
        if _extension(given, current) is None:
            message = f"this schema does not extend version {version}, which this server has subscriptions under"
            raise SchemaError(message, str(path), "take back what was changed or removed, or use another --state")
    elif extended != current:
        return store.schemas.add(extended.to_dict(), after=version), extended.to_dict()
    return version, form


def _extension(old: Schema, new: Schema) -> Schema | None:
    """The old schema with what the new one adds, in the old one's order; None if the new one is no extension of it."""
    before, after = _sections(old), _sections(new)
    added = {
        section: {name: one for name, one in after[section].items() if name not in before[section]}
        for section in ("domains", "attributes", "event_types")
    }
    known = before["event_types"]
    optional = {
        event_type: {name: one for name, one in annotations.items() if name not in known[event_type]}
        for event_type, annotations in after["event_types"].items()
        if event_type in known
    }
    try:
        extended = old.extend(**added, optional=optional)
    except SchemaError:
        return None
    return extended if _sections(extended) == after else None


def _sections(schema: Schema) -> dict[str, Any]:
    """The dict form without the default event type, which follows from how a schema grew."""
    return {"domains": {}, **schema.to_dict(), "default_event_type": None}
