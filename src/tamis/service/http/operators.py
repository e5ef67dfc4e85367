"""Routes for operators: those that filters may call, with their signatures, costs and health."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from tamis.operators.health import Tally
from tamis.operators.registry import Resolved
from tamis.service.http.access import Subscriber
from tamis.service.http.service import Service, Serving
from tamis.service.intake.problems import not_found, responses
from tamis.service.worker import Fared

router = APIRouter(prefix="/v1/operators", tags=["operators"])

_EXAMPLE: Final[dict[str, Any]] = {
    "name": "mob_pattern",
    "signature": "mob_pattern(?people: integer)",
    "parameters": [
        {"name": "people", "kind": "integer", "variable": True, "optional": False, "repeated": False, "choices": []}
    ],
    "reads": ["image"],
    "version": "1",
    "about": "How many people there are in the picture.",
    "batch": False,
    "time_limit": 30.0,
    "cost": 40.0,
    "cost_learned": False,
    "selectivity": 0.12,
    "selectivity_learned": True,
    "predicates": 3,
    "suspended": False,
    "calls": 1200,
    "evaluations": 1200,
    "held": 140,
    "unknown": 3,
    "failures": 2,
    "timeouts": 1,
    "skipped": 0,
    "absent": 0,
    "seconds": 48.2,
    "last_failure": "mob_pattern(20): ValueError: no picture",
}


class ParameterForm(BaseModel):
    """Parameter of a call; `repeated`: there, and in any number of places after it."""

    name: str
    kind: str = Field(description="Type: integer, float, string, boolean, timestamp, or any")
    variable: bool = Field(description="True if it may be a variable")
    optional: bool
    repeated: bool
    choices: list[str] = Field(description="Allowed strings; empty: any")


class OperatorForm(BaseModel):
    """Operator. Its counts are those of matching, since the server's start; see `unknown` in the docs."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    name: str
    signature: str = Field(description="Signature; ? where a variable may stand")
    parameters: list[ParameterForm]
    reads: list[str] = Field(description="Attributes that it reads; `*`: the whole event")
    version: str
    about: str
    batch: bool = Field(description="True if it takes batches of events")
    time_limit: float | None = Field(description="Time limit of a call, in seconds")
    cost: float | None = Field(description="Cost of an evaluation; null: not known yet")
    cost_learned: bool = Field(description="True if the cost is learned, in milliseconds, and not declared")
    selectivity: float | None = Field(description="Share of evaluations that held, lately, or as declared")
    selectivity_learned: bool = Field(description="True if the selectivity was observed, and is not as declared")
    predicates: int = Field(description="Number of distinct calls in subscriptions")
    suspended: bool = Field(description="True while it is not called, after too many time-outs")
    calls: int
    evaluations: int = Field(description="Number of evaluations, one per event")
    held: int
    unknown: int = Field(description="Evaluations without an answer, for any reason")
    failures: int = Field(description="Of these: by an exception, or an invalid answer")
    timeouts: int
    skipped: int = Field(description="Of these: because it was suspended")
    absent: int = Field(description="Of these: because the event lacks what it reads")
    seconds: float = Field(description="Time spent in calls")
    last_failure: str | None = Field(None, description="Last failure; for administrators")


class OperatorList(BaseModel):
    """Operators offered, by name."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [_EXAMPLE]}]})

    items: list[OperatorForm]


@router.get(
    "",
    operation_id="list_operators",
    summary="List operators",
    responses=responses(401, 403, 422, 503),
)
def list_operators(caller: Subscriber, service: Serving) -> OperatorList:
    """Lists the operators that filters may call, with cost and health. Counts are known where matching runs."""
    resolved = service.offering.resolved(service.schema)
    return OperatorList(items=[_shown(service, resolved[name], caller.administers) for name in sorted(resolved)])


@router.get(
    "/{name}",
    operation_id="get_operator",
    summary="Get an operator",
    responses=responses(401, 403, 404, 422, 503),
)
def get_operator(
    name: Annotated[str, Path(max_length=200, examples=["mob_pattern"])], caller: Subscriber, service: Serving
) -> OperatorForm:
    """Returns one of the operators that filters may call."""
    resolved = service.offering.resolved(service.schema).get(name)
    if resolved is None:
        raise not_found("operator")
    return _shown(service, resolved, caller.administers)


def _shown(service: Service, resolved: Resolved, administers: bool) -> OperatorForm:
    operator, signature = resolved.operator, resolved.signature
    fared = service.supervisor.status().operators.get(operator.name, Fared(Tally()))
    tally = fared.tally
    listed = [(parameter, False) for parameter in signature.parameters]
    listed += [(signature.rest, True)] if signature.rest is not None else []
    return OperatorForm(
        name=operator.name,
        signature=str(signature),
        parameters=[
            ParameterForm(
                name=one.name,
                kind=one.kind,
                variable=one.variable,
                optional=one.optional,
                repeated=repeated,
                choices=list(one.choices),
            )
            for one, repeated in listed
        ],
        reads=[*resolved.attributes, *(["*"] if resolved.reads_event else [])],
        version=operator.version,
        about=operator.about,
        batch=operator.batch,
        time_limit=operator.time_limit,
        cost=operator.cost if operator.cost is not None else fared.cost,
        cost_learned=operator.cost is None,
        selectivity=operator.selectivity if fared.selectivity is None else fared.selectivity,
        selectivity_learned=fared.selectivity is not None,
        predicates=fared.predicates,
        suspended=fared.suspended,
        calls=tally.calls,
        evaluations=tally.evaluations,
        held=tally.held,
        unknown=tally.unknown,
        failures=tally.failures,
        timeouts=tally.timeouts,
        skipped=tally.suspended,
        absent=tally.absent,
        seconds=tally.seconds,
        # It names the constants of a subscription, and perhaps folders and hosts.
        last_failure=(tally.last_failure or None) if administers else None,
    )
