"""Generated events that a schema accepts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tamis.schema import EVENT_TYPE, Domain, Schema
from tamis.testing.edge_values import values

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@st.composite
def events(draw: st.DrawFn, schema: Schema, max_values: int = 4) -> dict[str, Any]:
    """Events of one or more of the schema's types, valid by R1–R3, rich in the values that filters ask for."""
    types = draw(st.lists(st.sampled_from(list(schema.event_types)), min_size=1, unique=True))
    event: dict[str, Any] = {EVENT_TYPE: types}
    if types == [schema.default_event_type] and draw(st.booleans()):
        del event[EVENT_TYPE]
    for name, annotation in schema.view(types).items():
        domain = schema.attributes[name].domain
        if not annotation.mandatory and (absence := draw(_ABSENCE)):
            if absence == "null":
                event[name] = None
            elif absence == "empty" and annotation.multiple:
                event[name] = []
        elif annotation.multiple:
            event[name] = [_as_given(draw(values(domain)), domain) for _ in range(draw(st.integers(1, max_values)))]
        else:
            event[name] = _as_given(draw(values(domain)), domain)
    return event


def _as_given(value: Any, domain: Domain) -> Any:
    return _EPOCH + timedelta(microseconds=value) if domain.kind == "timestamp" else value


_ABSENCE = st.sampled_from(("", "", "", "", "missing", "null", "empty"))
