"""Routes for backtests: what a filter would have matched in the past. Requested here, run by the pipeline process."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from tamis.service.examining.language import read_filter
from tamis.service.http.access import Caller, Subscriber
from tamis.service.http.filters import FilterText, Id
from tamis.service.http.requests import StrictRoute
from tamis.service.http.service import BACKTESTS_UNDER_WAY, Service, Serving
from tamis.service.intake.problems import Problem, not_found, responses
from tamis.service.store import Backtest, TooManyError

router = APIRouter(prefix="/v1/backtests", tags=["backtests"], route_class=StrictRoute)


class BacktestRequest(BaseModel):
    """Request for a backtest: a filter, and which part of the past to look at."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"filter": "price < 10", "window_seconds": 3600}]}
    )

    filter: FilterText
    since: AwareDatetime | None = Field(None, description="Only events received from this time on")
    until: AwareDatetime | None = Field(None, description="Only events received before this time")
    window_seconds: Annotated[int, Field(ge=1, le=31_622_400)] | None = Field(
        None, description="Width of the time windows; chosen automatically by default"
    )
    samples: Annotated[int, Field(ge=0, le=50)] = Field(5, description="Number of sample events")


class BacktestForm(BaseModel):
    """Status of a backtest. `result` is there once it is done, `error` once it has failed."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "bkt_3q2-8xYhT0m5nKc7vZJdQw",
                    "state": "done",
                    "filter": "price < 10",
                    "done": 12,
                    "total": 12,
                    "created": "2026-01-01T10:00:00Z",
                    "result": {"events": 1000, "total": 3, "counts": [["2026-01-01T09:00:00Z", 3]]},
                    "error": "",
                }
            ]
        }
    )

    id: str
    state: Literal["waiting", "running", "done", "failed"]
    filter: str
    done: int = Field(description="Finished pieces of work")
    total: int = Field(description="Known pieces of work; 0 at first")
    created: datetime
    result: dict[str, Any] | None
    error: str


@router.post(
    "",
    status_code=202,
    operation_id="start_backtest",
    summary="Start a backtest",
    responses=responses(400, 401, 403, 413, 422, 503),
)
async def start_backtest(form: BacktestRequest, caller: Subscriber, service: Serving) -> BacktestForm:
    """Starts a backtest of a filter over the events that are still kept. Ask for the result by the id.

    Of a join, `counts` are results that came or went, `rows` says how many there are in the end, and `samples` are some
    of these; its tables begin empty.
    """
    read = await service.examine(caller.claimant, lambda: read_filter(service, form.filter))
    request = {
        "filter": read.matched,
        "text": form.filter,
        "since": None if form.since is None else form.since.isoformat(),
        "until": None if form.until is None else form.until.isoformat(),
        "window_seconds": form.window_seconds,
        "samples": form.samples,
    }
    return _shown(await run_in_threadpool(_started, service, caller, request))


def _started(service: Service, caller: Caller, request: dict[str, Any]) -> Backtest:
    backtests, most = service.store.backtests, BACKTESTS_UNDER_WAY
    with service.allowances.backtests.one_more(caller) as note:
        try:
            id = None if note is None else backtests.create(caller.owner, request, most)
        except TooManyError:
            id = None
        if id is None or note is None:
            detail = "as many backtests as may be are under way already; wait for one to end"
            raise Problem(429, "limit", detail, headers={"Retry-After": "10"})
        note(id)
    made = backtests.get(id)
    if made is None:
        raise not_found("backtest")
    return made


@router.get(
    "/{id}",
    operation_id="get_backtest",
    summary="Get a backtest",
    responses=responses(401, 403, 404, 422, 503),
)
def get_backtest(id: Id, caller: Subscriber, service: Serving) -> BacktestForm:
    """Progress of a backtest, and its result once it is done."""
    found = service.store.backtests.get(id)
    if found is None or not _may_see(caller, found):
        raise not_found("backtest")
    return _shown(found)


def _may_see(caller: Caller, found: Backtest) -> bool:
    """True if the caller may read the backtest. One started without a key needs its id alone, an unguessable one."""
    return found.owner in ("", caller.owner) or caller.administers


def _shown(found: Backtest) -> BacktestForm:
    return BacktestForm(
        id=found.id,
        state=found.state,
        filter=str(found.request.get("text", "")),
        done=found.done,
        total=found.total,
        created=found.created,
        result=found.result,
        error=found.error,
    )
