"""Everything that matching does, done once on next to nothing: what is slow only the first time is over then."""

from __future__ import annotations

import pyarrow as pa

import tamis


def rehearse() -> None:
    """Loads the kernels, which are loaded when they are first called, and compiled when there is no cache of them."""
    kinds = {"name": "string", "number": "float", "count": "integer"}
    schema = tamis.Schema.from_dict({"attributes": kinds, "event_types": {"event": dict.fromkeys(kinds, "optional")}})
    filters = ("number < 1", "count = 1 AND number > 2", "name = 'a' OR name LIKE '%b%'", "name RLIKE 'c+'")
    index = tamis.compile({str(place): text for place, text in enumerate(filters)}, schema)
    events = schema.check_json(pa.array(['{"name": "b", "number": 0.5, "count": 1}'])).valid
    index.match(events).to_arrow()
    # As the changes between two versions of a table are applied, and matched by beside what was there before.
    index.add({f"+{place}": text for place, text in enumerate(filters)})
    index.remove(["0", "+1"])
    index.match(events).to_arrow()
