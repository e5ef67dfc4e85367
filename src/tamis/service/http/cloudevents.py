"""Routes of CloudEvents' Subscriptions API (a draft), beside ours and over the same subscriptions.

Roles, tickets and limits are as in the rest of the API. The ticket, and the secret that signs calls of the sink, are in
headers of the answer that creates the subscription: its body is CloudEvents' own.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from tamis.dialects.cloudevents_filters import CloudEventsFilterError, CloudEventsFilters
from tamis.service.delivery.webhooks import PREVIOUS
from tamis.service.http.access import Asking, Owned, Subscriber, SubscriptionId, Ticket, for_owner
from tamis.service.http.cloudevents_subscriptions import KEPT, SubscriptionRequest, SubscriptionShown, shown
from tamis.service.http.deliveries import CALLS, WebhookForm, stored_delivery
from tamis.service.http.forms import expiry
from tamis.service.http.requests import StrictRoute
from tamis.service.http.service import Service, Serving
from tamis.service.http.subscriptions import make_subscription
from tamis.service.intake.problems import Fault, Problem, not_found, responses
from tamis.service.store import UNCHANGED, NewSubscription, State, Subscription
from tamis.service.store.subscription import Keep

router = APIRouter(prefix="/cloudevents/v1", tags=["CloudEvents subscriptions"], route_class=StrictRoute)

_PATH: Final = "/cloudevents/v1/subscriptions"
_COLLECTION: Final = "GET,POST,OPTIONS"
_ONE: Final = "GET,PUT,DELETE,OPTIONS"
_LARGEST: Final = (1 << 63) - 1
_PAGE: Final = 1_000
_MOST_PAGES: Final = 20  # looked through for one answer, by somebody with many subscriptions of other dialects

_SECRETS: Final[dict[str, Any]] = {
    "Tamis-Ticket": {
        "description": "Lets anyone read, change and delete it without a key; shown this once",
        "schema": {"type": "string"},
    },
    "Tamis-Webhook-Secret": {
        "description": "Signs what is sent to the sink (Standard Webhooks); shown this once",
        "schema": {"type": "string"},
    },
}
_LOCATION: Final = {"description": "Where the subscription is", "schema": {"type": "string"}}
_ALLOW: Final = {"description": "The methods there are", "schema": {"type": "string"}}
_NEXT: Final = {"description": 'The page that follows: `<...>; rel="next"`', "schema": {"type": "string"}}


def _answer(status: int, description: str, headers: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    return {status: {"description": description, "headers": headers}}


@router.post(
    "/subscriptions",
    status_code=201,
    operation_id="cloudevents_subscribe",
    summary="Subscribe to CloudEvents",
    response_model_exclude_none=True,
    responses={
        **_answer(201, "The subscription, as it was made", {"Location": _LOCATION, **_SECRETS}),
        **responses(400, 401, 403, 409, 413, 422, 503),
    },
)
async def create(
    form: SubscriptionRequest, caller: Subscriber, ticket: Ticket, service: Serving, response: Response
) -> SubscriptionShown:
    """Creates a subscription. CloudEvents published from now on that pass its filters are sent to the sink."""
    if form.config.state not in (None, "active"):
        raise _refused("config.state", "a subscription begins as active; pause it later")
    expires = _expiry(form, service)
    delivery = await _delivery(form, service, None)
    filters, text, exact = await service.examine(caller.claimant, lambda: _translated(form, service))
    new = NewSubscription(
        owner=caller.owner,
        text=filters,
        filter=text,
        expires=expires,
        label=form.config.label or "",
        dialect="cloudevents",
        residual=None if exact else filters,
        delivery=delivery,
    )
    made, shown_once = await run_in_threadpool(make_subscription, service, caller, new, ticket)
    response.headers["Location"] = f"{_PATH}/{made.id}"
    response.headers["Tamis-Ticket"] = shown_once
    response.headers["Tamis-Webhook-Secret"] = made.delivery["secret"]
    return shown(made)


@router.get(
    "/subscriptions",
    operation_id="cloudevents_list",
    summary="List CloudEvents subscriptions",
    response_model_exclude_none=True,
    responses={**_answer(200, "Subscriptions, the oldest first", {"Link": _NEXT}), **responses(401, 403, 422, 503)},
)
def query(
    caller: Subscriber,
    service: Serving,
    response: Response,
    after: Annotated[int, Query(ge=0, le=_LARGEST, description="As in the `Link` of the previous page")] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> list[SubscriptionShown]:
    """Lists the key's subscriptions, or everybody's for an administrator, without those that ended."""
    if caller.key is None:
        detail = "listing needs an API key; a subscription made without one is found by its id and ticket"
        raise Problem(401, "key", detail, headers={"WWW-Authenticate": "Bearer"})
    owner = None if caller.administers else caller.owner
    found: list[Subscription] = []
    for _ in range(_MOST_PAGES):
        page = service.store.subscriptions.list(owner, after=after, limit=_PAGE)
        for one in page:
            after = one.number
            if _is_shown(one):
                found.append(one)
            if len(found) == limit:
                break
        if len(page) < _PAGE and (not page or after == page[-1].number):
            return [shown(one) for one in found]
        if len(found) == limit:
            break
    response.headers["Link"] = f'<{_PATH}?after={after}&limit={limit}>; rel="next"'
    return [shown(one) for one in found]


@router.options(
    "/subscriptions",
    operation_id="cloudevents_features",
    summary="Methods of the collection",
    response_class=Response,
    responses={**_answer(200, "Nothing but headers", {"Allow": _ALLOW}), **responses()},
)
def features(caller: Asking) -> Response:
    """Lists the supported methods."""
    return Response(headers={"Allow": _COLLECTION})


@router.get(
    "/subscriptions/{id}",
    operation_id="cloudevents_retrieve",
    summary="Get a CloudEvents subscription",
    response_model_exclude_none=True,
    responses=responses(401, 404, 422, 503),
)
def retrieve(found: Owned) -> SubscriptionShown:
    """Subscription of the key, or of the ticket given."""
    return shown(_required(found))


@router.put(
    "/subscriptions/{id}",
    operation_id="cloudevents_update",
    summary="Change a CloudEvents subscription",
    response_model_exclude_none=True,
    responses={
        **_answer(
            200,
            "The subscription, as it is now; the secret is there if the sink is another one",
            {"Tamis-Webhook-Secret": _SECRETS["Tamis-Webhook-Secret"]},
        ),
        **responses(400, 401, 403, 404, 409, 413, 422, 503),
    },
)
async def update(
    form: SubscriptionRequest, found: Owned, caller: Subscriber, service: Serving, response: Response
) -> SubscriptionShown:
    """Replaces the subscription; a credential left out is kept if the sink stays."""
    _required(found)
    if form.id not in (None, found.id):
        raise _refused("id", "this is another subscription's id; leave it out")
    config = form.config
    if config.state not in (None, "active", "paused", found.state):
        raise _refused("config.state", "a subscription can be asked to be active or paused")
    renewed = config.validity not in (None, *_stays(found)) or config.expires not in (None, found.ends)
    if found.state == "expired" and not renewed:
        raise Problem(409, "conflict", "the subscription has expired; give it a validity")
    expires = _expiry(form, service) if renewed else None
    delivery = await _delivery(form, service, found.delivery)
    filters, text, exact = await service.examine(caller.claimant, lambda: _translated(form, service))
    state: State | Keep = UNCHANGED if config.state not in ("active", "paused") else config.state
    by_owner = for_owner(caller, service)

    def change() -> Subscription:
        if expires is not None:
            service.store.subscriptions.renew(found.id, expires, by_owner=by_owner)
        return service.store.subscriptions.replace(
            found.id,
            text=filters,
            filter=text,
            residual=None if exact else filters,
            delivery=delivery,
            label=config.label or "",
            state=state,
            by_owner=by_owner,
        )

    changed = await run_in_threadpool(change)
    if delivery["secret"] != found.delivery.get("secret"):
        response.headers["Tamis-Webhook-Secret"] = delivery["secret"]
    return shown(changed)


@router.delete(
    "/subscriptions/{id}",
    operation_id="cloudevents_delete",
    summary="Delete a CloudEvents subscription",
    response_model_exclude_none=True,
    responses=responses(401, 403, 404, 422, 503),
)
def delete(found: Owned, service: Serving) -> SubscriptionShown:
    """Ends the subscription for good, and returns its last state."""
    return shown(service.store.subscriptions.cancel(_required(found).id))


@router.options(
    "/subscriptions/{id}",
    operation_id="cloudevents_subscription_features",
    summary="Methods of a subscription",
    response_class=Response,
    responses={**_answer(200, "Nothing but headers", {"Allow": _ALLOW}), **responses(422)},
)
def subscription_features(id: SubscriptionId, caller: Asking) -> Response:
    """Lists the supported methods, whether or not the subscription exists."""
    return Response(headers={"Allow": _ONE})


def _is_shown(found: Subscription) -> bool:
    return found.dialect == "cloudevents" and found.delivery["mode"] == "webhook" and found.state != "cancelled"


def _required(found: Subscription) -> Subscription:
    """Subscription, if it exists for this API."""
    if not _is_shown(found):
        raise not_found()
    return found


def _translated(form: SubscriptionRequest, service: Service) -> tuple[str, str, bool]:
    """Filters as JSON, the condition for the index, and True if that is exact."""
    try:
        filters: CloudEventsFilters = form.effective_filters()
    except CloudEventsFilterError as error:
        place = {"start": error.start, "end": error.end} if error.text else {}
        raise Problem(422, "filter", str(error), [Fault(message=error.message, field=error.place, **place)]) from None
    return filters.to_json(), *filters.to_tamis(service.schema, service.limits.filter)


async def _delivery(form: SubscriptionRequest, service: Service, before: dict[str, Any] | None) -> dict[str, Any]:
    """Delivery to store. While the sink stays the same, so do the secret and a credential that is not given."""
    stays = before is not None and before.get("url") == form.sink
    headers = form.headers(before.get("headers") if before is not None and stays else None)
    try:
        webhook = WebhookForm(mode="webhook", url=form.sink, headers=headers, format="cloudevents", parallel=1, batch=1)
        delivery = await stored_delivery(webhook, service.settings)
    except ValidationError as error:
        faults = [Fault(message=str(one["msg"]), field=_field(one["loc"])) for one in error.errors()[:20]]
        raise Problem(422, "request", f"{faults[0].field}: {faults[0].message}", faults) from None
    except Problem as problem:
        faults = [fault.model_copy(update={"field": "sink"}) for fault in problem.errors]
        raise Problem(problem.status, problem.kind, problem.detail, faults) from None
    if before is not None and stays:
        # Only the other API knows of the rest: how the sink is called, and a rotation of the secret.
        delivery |= {name: before[name] for name in ("secret", PREVIOUS, *CALLS) if name in before}
    return {**delivery, KEPT: form.kept()}


def _field(place: tuple[int | str, ...]) -> str:
    return "sink" if place[:1] == ("url",) else ".".join(map(str, ("protocolsettings", *place)))


def _stays(found: Subscription) -> tuple[str, ...]:
    """Validity that the subscription has already, as it is shown."""
    return ("forever",) if found.ends is None else ()


def _expiry(form: SubscriptionRequest, service: Service) -> datetime:
    try:
        return expiry(form.config, service.settings)
    except Problem as problem:
        faults = [fault.model_copy(update={"field": f"config.{fault.field}"}) for fault in problem.errors]
        raise Problem(problem.status, problem.kind, problem.detail, faults) from None


def _refused(field: str, message: str) -> Problem:
    return Problem(422, "request", f"{field}: {message}", [Fault(message=message, field=field)])
