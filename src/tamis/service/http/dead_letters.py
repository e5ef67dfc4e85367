"""Routes for dead letters: events that could not be read and notifications that could not be delivered; list, replay,
delete.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query, Response
from starlette.concurrency import run_in_threadpool

from tamis.service.delivery.store_reader import NotReplayable
from tamis.service.http.access import Asking, Caller
from tamis.service.http.forms import DeadLetterForm, DeadLetterPage, Replayed
from tamis.service.http.service import Service, Serving
from tamis.service.intake.problems import Problem, not_found, responses
from tamis.service.store import DeadLetter

router = APIRouter(prefix="/dead-letters", tags=["dead letters"])

_LARGEST: Final = (1 << 63) - 1
LetterId = Annotated[int, Path(ge=1, le=_LARGEST)]


@router.get("", operation_id="list_dead_letters", summary="List dead letters", responses=responses(401, 422, 503))
async def list_dead_letters(
    caller: Asking,
    service: Serving,
    kind: Annotated[Literal["event", "delivery"] | None, Query(description="Only dead letters of this kind")] = None,
    after: Annotated[int, Query(ge=0, le=_LARGEST, description="`next` of the previous page")] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    order: Annotated[Literal["oldest", "newest"], Query(description="Order of the answer")] = "oldest",
) -> DeadLetterPage:
    """Lists dead letters of the key's subscriptions and publishes, or everybody's for an administrator."""
    newest = order == "newest"
    find = partial(service.store.dead_letters.list, _whose(caller), kind, after, limit, newest_first=newest)
    letters = await run_in_threadpool(find)
    return DeadLetterPage(
        dead_letters=[_form(letter) for letter in letters],
        next=letters[-1].id if len(letters) == limit else None,
    )


@router.post(
    "/{id}/replay",
    operation_id="replay_dead_letter",
    summary="Replay a dead letter",
    responses=responses(401, 404, 409, 422, 502, 503),
)
async def replay_dead_letter(id: LetterId, caller: Asking, service: Serving) -> Replayed:
    """Makes one attempt now, under the original id. An acknowledged notification is removed from the dead letters."""
    letter = await _own(id, caller, service)
    if letter.kind != "delivery":
        raise Problem(409, "conflict", "this event could not be read; mend it and publish it again")
    try:
        outcome = await service.delivery.replay(letter)
    except NotReplayable as error:
        raise Problem(409, "conflict", str(error)) from None
    if outcome.kind == "delivered":
        return Replayed(delivered=True)
    reason = outcome.reason or f"its endpoint fails; it is left alone for another {outcome.wait:.0f} seconds"
    raise Problem(502, "undelivered", f"it could not be delivered: {reason}")


@router.delete(
    "/{id}",
    status_code=204,
    operation_id="remove_dead_letter",
    summary="Delete a dead letter",
    responses=responses(401, 404, 422, 503),
)
async def remove_dead_letter(id: LetterId, caller: Asking, service: Serving) -> Response:
    """Deletes a dead letter for good."""
    letter = await _own(id, caller, service)
    await run_in_threadpool(service.store.dead_letters.remove, [letter.id])
    return Response(status_code=204)


async def _own(id: int, caller: Caller, service: Service) -> DeadLetter:
    owner = _whose(caller)
    letter = await run_in_threadpool(service.store.dead_letters.get, id)
    if letter is None or owner not in (None, letter.owner):
        raise not_found("dead letter")
    return letter


def _whose(caller: Caller) -> str | None:
    """Owner of the letters: the key's, or everybody's (None). Callers without a key cannot be told apart."""
    if caller.key is None:
        raise Problem(401, "key", "dead letters need an API key", headers={"WWW-Authenticate": "Bearer"})
    return None if caller.administers else caller.owner


def _form(letter: DeadLetter) -> DeadLetterForm:
    fields = asdict(letter)
    del fields["owner"]
    return DeadLetterForm(**fields)
