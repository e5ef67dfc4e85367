"""Routes for subscriptions: create, list, change, pause, renew, rotate webhook secrets, cancel, test, and activity."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from tamis.service.delivery.webhooks import PREVIOUS
from tamis.service.examining.explanations import EventForm, ExplanationForm
from tamis.service.examining.language import ReadFilter, read_filter
from tamis.service.http.access import Asking, Caller, Owned, Subscriber, Ticket, for_owner, subscriber
from tamis.service.http.deliveries import DAY, RotationForm, rotated, stored_delivery
from tamis.service.http.filters import asked
from tamis.service.http.forms import (
    ChangedForm,
    ChangeForm,
    CreatedForm,
    SubscribeForm,
    SubscriptionForm,
    SubscriptionPage,
    ValidityForm,
    expiry,
    fields_shown,
    shown,
)
from tamis.service.http.requests import StrictRoute
from tamis.service.http.service import Service, Serving
from tamis.service.intake.problems import Fault, Problem, responses
from tamis.service.store import UNCHANGED, NewSubscription, RevokedError, State, Subscription, TooManyError

# Creation of a subscription: within the owner's allowance, and idempotent by its ticket.

_TICKET: Final = re.compile(r"tkt_[A-Za-z0-9_-]{43}", re.ASCII)
# Of 43 characters drawn from 64, some 31 are different; the chance of fewer than 18, of five repeated pieces, or of
# thirteen steps of one length, is below one in a billion.
_FEWEST: Final = 18
_PIECE: Final = 4
_MOST_AGAIN: Final = 4
_MOST_STEPS: Final = 12


def make_subscription(
    service: Service, caller: Caller, new: NewSubscription, ticket: str | None
) -> tuple[Subscription, str]:
    """Creates a subscription; returns it with its ticket, which the subscriber may have brought. Reads the store: not
    for the event loop.
    """
    if ticket is not None and not is_random(ticket):
        message = "a ticket of one's own is tkt_ and 43 random URL-safe characters: 32 bytes of chance, in base64"
        raise Problem(422, "ticket", message, [Fault(message=message, field="Tamis-Ticket")])
    with service.allowances.subscriptions.one_more(caller) as note:
        if note is None:
            raise _too_many()
        try:
            made, kept = service.store.subscriptions.create(new, ticket or "", service.limits.subscriptions_per_key)
        except TooManyError:
            raise _too_many() from None
        note(made.number)
    if ticket is not None and _asked(made) != _asked(new):
        raise Problem(409, "conflict", "this ticket belongs to a subscription that was asked for otherwise")
    return made, kept


def _too_many() -> Problem:
    return Problem(403, "limit", "there are as many subscriptions already as may be; cancel some")


def is_random(ticket: str) -> bool:
    """True if the ticket looks random: enough different characters, and no repeated pieces. The id, which others see,
    is a hash of the ticket: one that is made up by hand can be found from it.
    """
    if _TICKET.fullmatch(ticket) is None:
        return False
    drawn = ticket.removeprefix("tkt_")
    steps = Counter((ord(after) - ord(before)) for before, after in pairwise(drawn))
    pieces = {drawn[at : at + _PIECE] for at in range(len(drawn) - _PIECE + 1)}
    return (
        len(set(drawn)) >= _FEWEST
        and len(pieces) > len(drawn) - _PIECE - _MOST_AGAIN
        and max(steps.values()) <= _MOST_STEPS
    )


def _asked(what: Subscription | NewSubscription) -> tuple[Any, ...]:
    """Key of a request, equal for equal ones; a secret is made anew for each."""
    delivery = {name: value for name, value in what.delivery.items() if name not in ("secret", PREVIOUS)}
    return what.owner, what.label, what.kind, what.text, what.dialect, delivery


router = APIRouter(prefix="/v1/subscriptions", tags=["subscriptions"], route_class=StrictRoute)

_LONGEST_ACTIVITY: Final = 366 * 24 * 3600
_MOST_BUCKETS: Final = 2_000
_LARGEST: Final = (1 << 63) - 1


@router.post(
    "",
    status_code=201,
    operation_id="subscribe",
    summary="Subscribe",
    response_model_exclude_none=True,
    responses=responses(400, 401, 403, 409, 413, 422, 503),
)
async def subscribe(form: SubscribeForm, caller: Subscriber, ticket: Ticket, service: Serving) -> CreatedForm:
    """Creates a subscription. Events published from now on are matched against it.

    The answer has the ticket, with which anyone can read, change, renew and cancel it, and for a webhook the secret
    that signs it. Neither is shown again. A request that brings its own ticket may be repeated with it if the answer is
    lost.
    """
    expires = expiry(form, service.settings)
    read = await service.examine(caller.claimant, partial(read_filter, service, form.filter))
    if form.kind not in (None, read.kind):
        message = f"the text is of the kind {read.kind}: leave kind out"
        raise Problem(422, "request", message, [Fault(message=message, field="kind")])
    delivery = await stored_delivery(form.delivery, service.settings)
    new = NewSubscription(
        owner=caller.owner,
        text=read.text,
        filter=read.matched,
        kind=read.kind,
        expires=expires,
        label=form.label,
        delivery=delivery,
    )
    made, shown_once = await run_in_threadpool(make_subscription, service, caller, new, ticket)
    service.delivery.matched.remember(read.matched, read.form, read.schema)
    return CreatedForm(**fields_shown(made, secret=True), ticket=shown_once)


@router.get(
    "",
    operation_id="list_subscriptions",
    summary="List subscriptions",
    response_model_exclude_none=True,
    responses=responses(401, 403, 422, 503),
)
def list_subscriptions(
    caller: Subscriber,
    service: Serving,
    search: Annotated[str, Query(max_length=200, description="Part of the id, label or filter")] = "",
    state: Annotated[
        State | Literal["expiring"] | None,
        Query(description="Only subscriptions in this state; `expiring`: active or paused, but expiring soon"),
    ] = None,
    owner: Annotated[
        str | None, Query(max_length=100, description="For administrators: only subscriptions of this key")
    ] = None,
    after: Annotated[int, Query(ge=0, le=_LARGEST, description="`next` of the previous page")] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> SubscriptionPage:
    """Lists the key's subscriptions, or everybody's for an administrator. Those made without a key have no list."""
    if caller.key is None:
        detail = "listing needs an API key; a subscription made without one is found by its id and ticket"
        raise Problem(401, "key", detail, headers={"WWW-Authenticate": "Bearer"})
    if not caller.administers:
        owner = caller.owner
    subscriptions = service.store.subscriptions
    now = datetime.now(UTC)
    if state == "expiring":
        found = subscriptions.list(owner, search=search, expiring=now, after=after, limit=limit)
        total = subscriptions.count_expiring(owner, now)
    else:
        found = subscriptions.list(owner, search=search, state=state, after=after, limit=limit)
        total = subscriptions.count(owner, state)
    pushed = service.store.deliveries.get([one.number for one in found if one.delivery["mode"] != "pull"])
    return SubscriptionPage(
        items=[shown(one, pushed.get(one.number)) for one in found],
        next=found[-1].number if len(found) == limit else None,
        total=total,
    )


@router.get(
    "/{id}",
    operation_id="get_subscription",
    summary="Get a subscription",
    response_model_exclude_none=True,
    responses=responses(401, 404, 422, 503),
)
def get_subscription(found: Owned, service: Serving) -> SubscriptionForm:
    """Subscription of the key, or of the ticket given."""
    return shown(found, service.store.deliveries.get([found.number]).get(found.number))


@router.patch(
    "/{id}",
    operation_id="change_subscription",
    summary="Change a subscription",
    response_model_exclude_none=True,
    responses=responses(400, 401, 403, 404, 409, 413, 422, 503),
)
async def change_subscription(form: ChangeForm, found: Owned, caller: Asking, service: Serving) -> ChangedForm:
    """Pauses or resumes a subscription, or changes its filter, label or delivery; an administrator may change its
    owner.

    Changing the filter or delivery needs the right to subscribe.
    """
    if form.filter is not None or form.delivery is not None:
        await subscriber(caller, service)
    if form.owner is not None and not caller.administers:
        raise Problem(403, "role", "giving a subscription to another key needs a key that may administer")
    if found.state in ("expired", "cancelled"):
        raise Problem(409, "conflict", f"the subscription is {found.state} and cannot be changed")
    if form.filter is not None and found.dialect != "tamis":
        raise Problem(409, "conflict", "its filter is of another dialect; cancel it and subscribe anew")
    read: ReadFilter | None = None
    if (text := form.filter) is not None:
        read = await service.examine(caller.claimant, lambda: read_filter(service, text))
        if "join" in {read.kind, found.kind} and read.kind != found.kind:
            raise Problem(409, "conflict", "a join stays a join, and a filter a filter; cancel it and subscribe anew")
    delivery = UNCHANGED if form.delivery is None else await stored_delivery(form.delivery, service.settings)

    def change() -> Subscription:
        return service.store.subscriptions.replace(
            found.id,
            text=UNCHANGED if read is None else read.text,
            filter=UNCHANGED if read is None else read.matched,
            kind=UNCHANGED if read is None else read.kind,
            label=UNCHANGED if form.label is None else form.label,
            delivery=delivery,
            state=UNCHANGED if form.state is None else form.state,
            by_owner=for_owner(caller, service),
        )

    if found.delivery["mode"] == "pull" and form.delivery is not None and form.delivery.mode != "pull":
        await service.delivery.begin_from_now(found.number)
    ticket = None
    if (owner := form.owner) is not None and owner != found.owner:
        try:
            _, ticket = await run_in_threadpool(service.store.subscriptions.transfer, found.id, owner)
        except RevokedError as error:
            raise Problem(422, "request", str(error), [Fault(message=str(error), field="owner")]) from None
    changed = await run_in_threadpool(change)
    if read is not None:
        service.delivery.matched.remember(read.matched, read.form, read.schema)
    return ChangedForm(**fields_shown(changed, secret=form.delivery is not None), ticket=ticket)


@router.post(
    "/{id}/renew",
    operation_id="renew_subscription",
    summary="Renew a subscription",
    response_model_exclude_none=True,
    responses=responses(400, 401, 403, 404, 409, 413, 422, 503),
)
def renew_subscription(
    found: Owned, caller: Asking, service: Serving, form: ValidityForm | None = None
) -> SubscriptionForm:
    """Renews a subscription from now for the validity given, or for its previous one. An expired one becomes active
    again.
    """
    if found.state == "cancelled":
        raise Problem(409, "conflict", "the subscription was cancelled; subscribe anew")
    before = None if found.ends is None or found.began is None else found.ends - found.began
    expires, by_owner = expiry(form, service.settings, before), for_owner(caller, service)
    return shown(service.store.subscriptions.renew(found.id, expires, by_owner=by_owner))


@router.post(
    "/{id}/rotate-secret",
    operation_id="rotate_secret",
    summary="Give a webhook a new secret",
    response_model_exclude_none=True,
    responses=responses(400, 401, 403, 404, 409, 413, 422, 503),
)
async def rotate_secret(
    found: Owned, caller: Asking, service: Serving, form: RotationForm | None = None
) -> SubscriptionForm:
    """Signs calls with a new secret, shown this once, and until the overlap is over with the one before it as well.

    A receiver that knows either of the two takes all calls meanwhile. Whoever gives the secret may ask again.
    """
    await subscriber(caller, service)
    if found.state in ("expired", "cancelled"):
        raise Problem(409, "conflict", f"the subscription is {found.state} and cannot be changed")
    delivery = rotated(found.delivery, form or RotationForm(overlap=DAY, secret=None), datetime.now(UTC).timestamp())
    by_owner = for_owner(caller, service)
    change = partial(service.store.subscriptions.replace, found.id, delivery=delivery, by_owner=by_owner)
    return shown(await run_in_threadpool(change), secret=True)


@router.delete(
    "/{id}",
    status_code=204,
    operation_id="cancel_subscription",
    summary="Cancel a subscription",
    responses=responses(401, 403, 404, 422, 503),
)
def cancel_subscription(found: Owned, service: Serving) -> Response:
    """Cancels a subscription for good: by its owner, an administrator, or with the ticket. A repeat changes nothing."""
    service.store.subscriptions.cancel(found.id)
    return Response(status_code=204)


@router.post(
    "/{id}/test",
    operation_id="test_subscription",
    summary="Test a subscription against an event",
    response_model=ExplanationForm,
    responses=responses(400, 401, 404, 413, 422, 503),
)
async def test_subscription(
    form: EventForm, found: Owned, caller: Asking, service: Serving, request: Request
) -> Response:
    """Explains if the event would match the subscription, and why or why not. Nothing is published."""
    filter = (found.text, found.filter, found.kind)
    return await asked(request, service, caller, "test", filter=filter, event=form.event, residual=found.residual)


class Activity(BaseModel):
    """Matches over time: `counts` has a pair per bucket, its beginning and the number of matches."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"total": 3, "bucket_seconds": 3600, "counts": [["2026-01-01T10:00:00Z", 3]]}]}
    )

    total: int = Field(description="Number of matches that are still kept")
    bucket_seconds: int
    counts: list[tuple[datetime, int]]


@router.get(
    "/{id}/activity",
    operation_id="subscription_activity",
    summary="Get matches over time",
    responses=responses(401, 404, 422, 503),
)
def subscription_activity(
    found: Owned,
    service: Serving,
    seconds: Annotated[int, Query(ge=60, le=_LONGEST_ACTIVITY, description="Length of the period until now")] = 86_400,
    bucket: Annotated[int | None, Query(ge=1, le=_LONGEST_ACTIVITY, description="Width of a bucket in seconds")] = None,
) -> Activity:
    """Number of matching events per bucket; buckets without a match are left out."""
    width = max(bucket or seconds // 96, -(-seconds // _MOST_BUCKETS), 1)
    since = datetime.now(UTC) - timedelta(seconds=seconds)
    notifications = service.store.notifications
    counts = notifications.counts(found.number, since, timedelta(seconds=width))
    return Activity(total=notifications.total(found.number), bucket_seconds=width, counts=counts)
