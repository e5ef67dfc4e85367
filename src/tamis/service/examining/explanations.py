"""Explanations of filters: why an event does or does not match, alternative by alternative, condition by condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from tamis.dialects.cloudevents_filters import read_filters
from tamis.matching.explanation import MOST, Explanation, State, Verdict, explain, quotes
from tamis.operators.explanation import CourseExplanation, Step, Truth
from tamis.operators.values import json_value
from tamis.schema import Schema
from tamis.schema.timestamps import to_datetime
from tamis.service.examining.joins import JoinedNow, WouldChange, condition_on
from tamis.service.examining.language import Bench, ReadFilter
from tamis.service.examining.trials import ID, index_of
from tamis.service.intake.door import judge
from tamis.service.intake.problems import Fault, Problem

# Explanations as JSON: long values are quoted once, and alternatives as far as an answer has room.

LONGEST_ANSWER: Final = 1 << 20
"""Characters of alternatives in an answer, about."""
_SHOWN: Final = 5
_QUOTED: Final = 100  # characters that a condition quotes of an attribute, about
_FRAME: Final = 60  # characters around a condition


def explanation_json(found: Explanation, schema: Schema, *, inside: bool) -> dict[str, Any]:
    """Explanation as JSON values, timestamps as datetimes.

    What operators said when they failed may name folders and hosts: only those who may look `inside` are told.
    """
    shown = _nearest(found.alternatives)
    listing = _Listing(schema)
    answer: dict[str, Any] = {
        "matched": found.matched,
        "alternatives": [[listing.verdict(one) for one in found.alternatives[place]] for place in shown],
        "omitted": len(found.alternatives) - len(shown),
        "first_failure": None if found.first_failure is None else _Listing(schema).verdict(found.first_failure),
    }
    return answer | (_course(found, inside) if isinstance(found, CourseExplanation) else {})


def kind_of_failure(message: str) -> str:
    """Public part of an operator's failure: the name of the exception, or that it timed out."""
    return message.partition(":")[0]


def _nearest(alternatives: Sequence[Sequence[Verdict]]) -> list[int]:
    """Places of the alternatives that fit into an answer: those nearest to a match, in their order."""
    lengths = [
        sum(_FRAME + len(one.condition) + _QUOTED * len(one.values) for one in verdicts) for verdicts in alternatives
    ]
    if sum(lengths) <= LONGEST_ANSWER:
        return list(range(len(alternatives)))
    failed = [sum(one.state != "held" for one in verdicts) for verdicts in alternatives]
    kept: list[int] = []
    left = LONGEST_ANSWER
    for place in sorted(range(len(alternatives)), key=failed.__getitem__):
        left -= lengths[place]
        if left < 0 and kept:
            break
        kept.append(place)
    return sorted(kept)


class _Listing:
    """Verdicts in order: each attribute's values are cut, and long ones given with its first condition."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._quotes: dict[str, tuple[list[Any], list[Any]]] = {}
        self._seen: set[str] = set()

    def verdict(self, one: Verdict) -> dict[str, Any]:
        values = {name: self._quoted(name, given) for name, given in one.values.items()}
        self._seen.update(values)
        return {"condition": one.condition, "state": one.state, "values": values}

    def _quoted(self, name: str, given: list[Any]) -> list[Any]:
        # What variables are bound to is another thing with each call.
        if name.startswith("?"):
            return quotes(list(map(json_value, given)))[1]
        if name not in self._quotes:
            # Moments are microseconds to the language, and dates to people. Those after the first few are counted only.
            known = self._schema.attributes.get(name)
            moments = known is not None and known.domain.kind == "timestamp"
            read = map(to_datetime if moments else json_value, given[:MOST])
            self._quotes[name] = quotes([*read, *given[MOST:]])
        return self._quotes[name][name in self._seen]


def _course(found: CourseExplanation, inside: bool) -> dict[str, Any]:
    return {
        "steps": [_step(step, inside) for step in found.steps],
        "in_question": found.in_question,
        "bindings": None if found.variables is None else _bound(found.variables),
        "substitutions": found.substitutions,
    }


def _step(step: Step, inside: bool) -> dict[str, Any]:
    return {
        "predicate": step.predicate,
        "truth": step.truth,
        "bindings": [_bound(one) for one in step.bindings[:_SHOWN]],
        "failure": step.failure if inside else kind_of_failure(step.failure),
        "milliseconds": step.milliseconds,
        "eliminated": step.eliminated,
    }


def _bound(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {name: quotes([json_value(value)])[0][0] for name, value in variables.items()}


_EXAMPLE: Final[dict[str, Any]] = {
    "matched": False,
    "alternatives": [[{"condition": "price < 10.0", "state": "failed", "values": {"price": [12.5]}}]],
    "omitted": 0,
    "first_failure": {"condition": "price < 10.0", "state": "failed", "values": {"price": [12.5]}},
}


class EventForm(BaseModel):
    """Event to test a filter on."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"event": {"event_type": ["antiques"], "price": 12.5}}]}
    )

    event: dict[str, Any]


class VerdictForm(BaseModel):
    """Verdict on one condition; `absent`: it failed because the event lacks an attribute. `values` are the event's.

    Long texts are cut, and of many values there are the first: in full length with the first condition on the
    attribute, shorter with those after it.

    Of operators: `unknown` if one could not tell, and `not asked` if it did not have to be.
    """

    condition: str
    state: State
    values: dict[str, list[Any]]


class StepForm(BaseModel):
    """Evaluation of an operator: its answer, the values bound to variables, and its effect on the alternatives."""

    predicate: str
    truth: Truth
    bindings: list[dict[str, Any]] = Field(description="The first few")
    failure: str = Field(description="Reason for an unknown answer")
    milliseconds: float
    eliminated: int = Field(description="Number of alternatives ruled out by this")


class ExplanationForm(BaseModel):
    """Explanation: the filter matches iff every condition of some alternative held; no alternative: it contradicts
    itself.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    matched: bool
    alternatives: list[list[VerdictForm]]
    omitted: int = Field(
        default=0,
        description="Number of alternatives left out to shorten the answer: those furthest from a match",
    )
    first_failure: VerdictForm | None = Field(
        default=None, description="First failed condition of the alternative that came furthest"
    )
    residual: bool | None = Field(
        default=None,
        description="For CloudEvents filters: true if the part that the conditions cannot express held too",
    )
    steps: list[StepForm] | None = Field(
        default=None,
        description="For filters that call operators: their evaluations, in the order of the schedule",
    )
    in_question: int | None = Field(
        default=None, description="Number of alternatives that the plain conditions left for operators to decide"
    )
    bindings: dict[str, Any] | None = Field(default=None, description="Values of its variables, if it matches")
    substitutions: int | None = Field(default=None, description="Number of possible bindings")
    join: WouldChange | None = Field(
        default=None, description="For joins: changes that the event would make; the conditions are those on its table"
    )


def explained(
    bench: Bench, filter: ReadFilter, event: dict[str, Any], residual: str | None = None, *, inside: bool = False
) -> ExplanationForm:
    """Explains a filter on one event; a `Problem` if the door would refuse it. `inside`: see `explanation_json`."""
    require_event(bench, event)
    schema = bench.schema
    if filter.kind == "join":
        return _explained_join(bench, filter, event)
    if filter.kind == "operator":
        found = index_of(bench, filter).explain(event, ID)
    else:
        found = explain(filter.matched, event, schema, bench.limits.filter)
    rest = None
    if residual is not None:
        context = event.get("ce")
        rest = isinstance(context, dict) and read_filters(orjson.loads(residual)).holds(context)
    answer = explanation_json(found, schema, inside=inside)
    return ExplanationForm.model_validate(answer | {"matched": found.matched and rest is not False, "residual": rest})


def _explained_join(bench: Bench, filter: ReadFilter, event: dict[str, Any]) -> ExplanationForm:
    """Explains the conditions on the table that the event changes; it matches if its row passes these."""
    schema = bench.schema
    would = JoinedNow(bench, filter.matched).would_change(event)
    if would.table is None:
        return ExplanationForm(matched=False, alternatives=[], join=would)
    condition = condition_on(bench, filter.matched, would.table)
    found = explain(condition, event, schema, bench.limits.filter)
    return ExplanationForm.model_validate(explanation_json(found, schema, inside=False) | {"join": would})


def require_event(bench: Bench, event: dict[str, Any]) -> None:
    """Refuses an event that the door would refuse if it were published."""
    texts = pa.array([orjson.dumps(event).decode()], pa.large_string())
    judged = judge(bench.schema, texts, ignore_unknown=bench.ignores_unknown, event_bytes=bench.limits.event_bytes)
    for reason in judged.reasons.values():
        raise Problem(422, "event", reason, [Fault(message=reason, field="event")])
