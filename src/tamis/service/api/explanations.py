"""Why an event does or does not match, for people: every alternative of the filter, condition by condition."""

from __future__ import annotations

from typing import Any, Final

import orjson
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from tamis.dialects.cloudevents_filters import read_filters
from tamis.matching.explanation import Explanation, State, Verdict, explain
from tamis.schema import Schema
from tamis.schema.timestamps import to_datetime
from tamis.service.api.problems import Fault, Problem
from tamis.service.api.publishing.door import judge
from tamis.service.api.service import Service

_EXAMPLE: Final[dict[str, Any]] = {
    "matched": False,
    "alternatives": [[{"condition": "price < 10.0", "state": "failed", "values": {"price": [12.5]}}]],
    "first_failure": {"condition": "price < 10.0", "state": "failed", "values": {"price": [12.5]}},
}


class EventForm(BaseModel):
    """An event to look at."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"event": {"event_type": ["antiques"], "price": 12.5}}]}
    )

    event: dict[str, Any]


class VerdictForm(BaseModel):
    """One condition; `absent`: it failed because the event lacks an attribute. `values` are what the event has."""

    condition: str
    state: State
    values: dict[str, list[Any]]


class ExplanationForm(BaseModel):
    """The filter matches iff every condition of some alternative held; no alternative: it contradicts itself."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    matched: bool
    alternatives: list[list[VerdictForm]]
    first_failure: VerdictForm | None = Field(
        None, description="The first condition to fail in the alternative that came furthest"
    )
    residual: bool | None = Field(
        None, description="For CloudEvents filters: whether what the conditions cannot express held too"
    )


def explained(service: Service, filter: str, event: dict[str, Any], residual: str | None = None) -> ExplanationForm:
    """A filter on one event; a `Problem` if the event would be refused at the door."""
    require_event(service, event)
    schema = service.schema
    found = explain(filter, event, schema, service.limits.filter)
    rest = None
    if residual is not None:
        context = event.get("ce")
        rest = isinstance(context, dict) and read_filters(orjson.loads(residual)).holds(context)
    return ExplanationForm(
        matched=found.matched and rest is not False,
        alternatives=[[_shown(verdict, schema) for verdict in verdicts] for verdicts in found.alternatives],
        first_failure=_first_failure(found, schema),
        residual=rest,
    )


def require_event(service: Service, event: dict[str, Any]) -> None:
    """Refuses what would be refused if it were published."""
    texts = pa.array([orjson.dumps(event).decode()], pa.large_string())
    ignore = service.settings.unknown_attributes == "ignore"
    judged = judge(service.schema, texts, ignore_unknown=ignore, event_bytes=service.limits.event_bytes)
    for reason in judged.reasons.values():
        raise Problem(422, "event", reason, [Fault(message=reason, field="event")])


def _first_failure(found: Explanation, schema: Schema) -> VerdictForm | None:
    return None if found.first_failure is None else _shown(found.first_failure, schema)


def _shown(verdict: Verdict, schema: Schema) -> VerdictForm:
    # Moments are microseconds to the language, and dates to people.
    known = schema.attributes
    moments = {name for name in verdict.values if name in known and known[name].domain.kind == "timestamp"}
    values = {
        name: [to_datetime(value) for value in given] if name in moments else given
        for name, given in verdict.values.items()
    }
    return VerdictForm(condition=verdict.condition, state=verdict.state, values=values)
