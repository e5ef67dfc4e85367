"""The schema file of a server's start, set against the schema that its store has."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tamis.errors import SchemaError
from tamis.schema import Schema
from tamis.service.base.serving_schema import serving_schema
from tamis.service.store import Store, StoreError
from tamis.service.store.followed_schema import FollowedSchema

_SHOWN: Final = 20


def settle_schema(store: Store, path: Path | None) -> FollowedSchema:
    """The store's schema, once it has all that the file says.

    The file counts at the first start; later what it has more is added. What it lacks stays: it was added by other
    means, or the file is an older one. Where the two contradict each other, `SchemaError` tells each place.
    """
    followed = FollowedSchema(store)
    if path is not None:
        given = Schema.load(path)
        serving_schema(given)  # complains where it is at odds with what CloudEvents carry

        def larger(version: int, known: Schema) -> Schema:
            return _with_file(version, known, given, path) if version else given

        try:
            followed.grow(larger)
        except StoreError:
            # Another service of this store started at the same moment, and its file came first.
            followed.grow(larger)
    return followed


def _with_file(version: int, known: Schema, given: Schema, path: Path) -> Schema:
    """The known schema, which the store has under this version, with all that the file's has more."""
    found = known.difference(given)
    remedy = f"write them as version {version} has them (GET /v1/schema shows it), or use another --state or --store"
    if found.contradictions:
        told = "; ".join(map(str, found.contradictions[:_SHOWN]))
        more = f"; and {len(found.contradictions) - _SHOWN} more" if len(found.contradictions) > _SHOWN else ""
        message = f"this schema does not extend version {version}, which this server has subscriptions under: it says "
        raise SchemaError(f"{message}(here) otherwise than that version (there): {told}{more}", str(path), remedy)
    try:
        return known.extend(**found.additions)
    except SchemaError as error:
        message = f"this schema does not extend version {version}, which this server has subscriptions under: {error}"
        raise SchemaError(message, str(path), "take back what was changed, or use another --state or --store") from None
