"""Warm-up of a worker: matches next to nothing once, so that kernels are loaded or compiled before the first batch."""

from __future__ import annotations

import pyarrow as pa

import tamis


@tamis.operator(reads=("name",), time_limit=None)  # without a limit, no thread is started: workers are forked from here
def _length(name: str, size: int = tamis.Var) -> list[int] | bool:
    """Operator that the warm-up's filters call."""
    return [len(name)] if size is tamis.Var else len(name) == size


def rehearse() -> None:
    """Loads the kernels, which are loaded when they are first called, and compiled when there is no cache of them."""
    kinds = {"name": "string", "number": "float", "count": "integer"}
    schema = tamis.Schema.from_dict({"attributes": kinds, "event_types": {"event": dict.fromkeys(kinds, "optional")}})
    filters = ("number < 1", "count = 1 AND number > 2", "name = 'a' OR name LIKE '%b%'", "name RLIKE 'c+'")
    calls = ("_length(?n) AND ?n > 3 OR number > 2 AND _length(7)", "_length(1) AND count = 1")
    called = {f"?{place}": text for place, text in enumerate(calls)}
    texts = {str(place): text for place, text in enumerate(filters)} | called
    index = tamis.compile(texts, schema, operators=[_length])
    events = schema.check_json(pa.array(['{"name": "b", "number": 0.5, "count": 1}'])).valid
    index.match(events).bindings()
    # As the changes between two versions of a table are applied, and matched by beside what was there before.
    index.add({f"+{place}": text for place, text in enumerate(filters)})
    index.add({"+?": calls[0]})
    index.remove(["0", "+1", "?0"])
    index.match(events).to_arrow()
