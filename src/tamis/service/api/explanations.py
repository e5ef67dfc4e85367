"""Why an event does or does not match, for people: every alternative of the filter, condition by condition."""

from __future__ import annotations

from typing import Any, Final

import orjson
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from tamis.dialects.cloudevents_filters import read_filters
from tamis.matching.explanation import Explanation, State, Verdict, explain
from tamis.operators.explanation import CourseExplanation, Step, Truth
from tamis.operators.written import json_bindings, json_value
from tamis.schema import Schema
from tamis.schema.timestamps import to_datetime
from tamis.service.api.examining import ID, index_of
from tamis.service.api.joins import JoinedNow, WouldChange, condition_on
from tamis.service.api.language import ReadFilter
from tamis.service.api.problems import Fault, Problem
from tamis.service.api.publishing.door import judge
from tamis.service.api.service import Service

_SHOWN: Final = 5
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
    """One condition; `absent`: it failed because the event lacks an attribute. `values` are what the event has.

    Of operators: `unknown` if one could not tell, and `not asked` if it did not have to be.
    """

    condition: str
    state: State
    values: dict[str, list[Any]]


class StepForm(BaseModel):
    """One evaluation of an operator: what it said, what it bound its variables to, what that decided."""

    predicate: str
    truth: Truth
    bindings: list[dict[str, Any]] = Field(description="The first few")
    failure: str = Field(description="Why it could not tell")
    milliseconds: float
    eliminated: int = Field(description="How many of the filter's alternatives cannot hold after this")


class ExplanationForm(BaseModel):
    """The filter matches iff every condition of some alternative held; no alternative: it contradicts itself."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    matched: bool
    alternatives: list[list[VerdictForm]]
    first_failure: VerdictForm | None = Field(
        default=None, description="The first condition to fail in the alternative that came furthest"
    )
    residual: bool | None = Field(
        default=None, description="For CloudEvents filters: whether what the conditions cannot express held too"
    )
    steps: list[StepForm] | None = Field(
        default=None,
        description="For filters that call operators: what was evaluated, in the order chosen for this filter",
    )
    in_question: int | None = Field(
        default=None, description="How many of its alternatives the plain conditions left for operators to decide"
    )
    bindings: dict[str, Any] | None = Field(default=None, description="What its variables are bound to, if it matches")
    substitutions: int | None = Field(default=None, description="In how many ways that can be done")
    join: WouldChange | None = Field(
        default=None, description="For joins: what the event would change; the conditions are those on its table"
    )


def explained(
    service: Service, filter: ReadFilter, event: dict[str, Any], residual: str | None = None, *, inside: bool = False
) -> ExplanationForm:
    """A filter on one event; a `Problem` if the event would be refused at the door.

    What operators said when they failed may name folders and hosts: only those who may look `inside` are told.
    """
    require_event(service, event)
    schema = service.schema
    if filter.kind == "join":
        return _explained_join(service, filter, event)
    if filter.kind == "operator":
        found = index_of(service, filter).explain(event, ID)
    else:
        found = explain(filter.matched, event, schema, service.limits.filter)
    rest = None
    if residual is not None:
        context = event.get("ce")
        rest = isinstance(context, dict) and read_filters(orjson.loads(residual)).holds(context)
    return ExplanationForm(
        matched=found.matched and rest is not False,
        alternatives=[[_shown(verdict, schema) for verdict in verdicts] for verdicts in found.alternatives],
        first_failure=_first_failure(found, schema),
        residual=rest,
        **(_course(found, inside) if isinstance(found, CourseExplanation) else {}),
    )


def _explained_join(service: Service, filter: ReadFilter, event: dict[str, Any]) -> ExplanationForm:
    """The conditions on the table that the event changes; it matches if its row takes part as far as these go."""
    schema = service.schema
    would = JoinedNow(service, filter.matched).would_change(event)
    if would.table is None:
        return ExplanationForm(matched=False, alternatives=[], join=would)
    condition = condition_on(service, filter.matched, would.table)
    found = explain(condition, event, schema, service.limits.filter)
    return ExplanationForm(
        matched=found.matched,
        alternatives=[[_shown(verdict, schema) for verdict in verdicts] for verdicts in found.alternatives],
        first_failure=_first_failure(found, schema),
        join=would,
    )


def _course(found: CourseExplanation, inside: bool) -> dict[str, Any]:
    return {
        "steps": [_step(step, inside) for step in found.steps],
        "in_question": found.in_question,
        "bindings": None if found.variables is None else json_bindings(found.variables),
        "substitutions": found.substitutions,
    }


def _step(step: Step, inside: bool) -> StepForm:
    return StepForm(
        predicate=step.predicate,
        truth=step.truth,
        bindings=[json_bindings(one) for one in step.bindings[:_SHOWN]],
        failure=step.failure if inside else kind_of_failure(step.failure),
        milliseconds=step.milliseconds,
        eliminated=step.eliminated,
    )


def kind_of_failure(message: str) -> str:
    """Of what an operator said when it failed, what anybody may know: the name of the exception, or that it is late."""
    return message.partition(":")[0]


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
        name: [to_datetime(value) for value in given] if name in moments else list(map(json_value, given))
        for name, given in verdict.values.items()
    }
    return VerdictForm(condition=verdict.condition, state=verdict.state, values=values)
