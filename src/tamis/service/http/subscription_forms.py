"""Subscriptions as they are asked for, and as they are shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from tamis.service.http.deliveries import DeliveryForm, PullForm, ShownDelivery, shown_delivery
from tamis.service.http.texts import FilterText, Id, Label
from tamis.service.http.validity import ValidityForm
from tamis.service.store import DeliveryState, Dialect, Kind, State, Subscription

EXAMPLE: Final[dict[str, Any]] = {
    "id": "sub_3q2-8xYhT0m5nKc7vZJdQw",
    "label": "cheap antiques",
    "kind": "filter",
    "dialect": "tamis",
    "filter": "price < 10 AND event_type = 'antiques'",
    "canonical": "event_type = 'antiques' AND price < 10.0",
    "delivery": {"mode": "pull"},
    "state": "active",
    "created": "2026-01-01T10:00:00Z",
    "expires": "2026-01-08T10:00:00Z",
    "expiring": False,
    "owner": "9f86d081884c7d65",
}


class SubscribeForm(ValidityForm):
    """A new subscription."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"filter": "price < 10", "label": "cheap", "validity": "P7D"},
                {"filter": "price < 10", "delivery": {"mode": "webhook", "url": "https://example.org/hook"}},
                {"filter": "SELECT * FROM Stocks JOIN Reviews USING (Symbol) WHERE Rating > 6"},
            ]
        },
    )

    filter: FilterText = Field(description="A filter in Tamis' language, or a join of tables (SELECT ...)")
    label: Label = Field("", description="For people")
    kind: Kind | None = Field(None, description="What the text is; left out, it is seen from the text")
    delivery: DeliveryForm = Field(default_factory=PullForm)


class ChangeForm(BaseModel):
    """What is to be changed; what is left out stays. A new webhook gets a new secret."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"state": "paused"}]})

    filter: FilterText | None = None
    label: Label | None = None
    delivery: DeliveryForm | None = None
    state: Literal["active", "paused"] | None = None
    owner: Id | None = Field(
        None, description="For administrators: the key that it belongs to from now on. It gets a new ticket"
    )


class Health(BaseModel):
    """How the delivery of a webhook or Kafka subscription is doing."""

    cursor: str
    failures: int = Field(description="Attempts since the last one that succeeded")
    next_attempt: datetime | None = None
    last_error: str
    disabled: bool


class SubscriptionForm(BaseModel):
    """A subscription as it is now."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    id: str
    label: str
    kind: Kind
    dialect: Dialect
    filter: str = Field(description="As it was written")
    canonical: str = Field(description="As it is matched")
    delivery: ShownDelivery
    health: Health | None = Field(None, description="For webhooks and Kafka, once something was sent")
    state: State
    reason: str | None = Field(
        None, description="Why it is suspended: what its conditions took of everybody's matching"
    )
    created: datetime
    expires: datetime | None = Field(None, description="Until when it is valid; left out: until it is cancelled")
    validity: Literal["forever"] | None = Field(None, description="`forever` if it is valid until it is cancelled")
    expiring: bool = Field(description="Whether it stands, but not for long: a notification has told so; renew it")
    owner: str = Field(description="The id of the key that made it; empty: none did")


class CreatedForm(SubscriptionForm):
    """A subscription just made, with its ticket: shown this once, and good for all but listing, without any key."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**EXAMPLE, "ticket": "tkt_dGhlIHRpY2tldCBpcyB1bmd1ZXNzYWJsZSBieSBhbnlvbmU"}]}
    )

    ticket: str


class ChangedForm(SubscriptionForm):
    """A subscription as it is now; with its new ticket, shown this once, if it was given to another key."""

    ticket: str | None = None


class SubscriptionPage(BaseModel):
    """Some subscriptions, the oldest first. `next` is the `after` of the page that follows, if there is one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [EXAMPLE], "next": 17, "total": 40}]})

    items: list[SubscriptionForm]
    next: int | None = None
    total: int = Field(description="How many there are in that state, whatever is searched for")


def shown(found: Subscription, state: DeliveryState | None = None, *, secret: bool = False) -> SubscriptionForm:
    """A subscription for those who may see it."""
    return SubscriptionForm(**fields_shown(found, state, secret=secret))


def fields_shown(found: Subscription, state: DeliveryState | None = None, *, secret: bool = False) -> dict[str, Any]:
    """The fields of the form."""
    return {
        "id": found.id,
        "label": found.label,
        "kind": found.kind,
        "dialect": found.dialect,
        "filter": found.text,
        "canonical": found.filter,
        "delivery": shown_delivery(found.delivery, secret=secret),
        "health": _health(state),
        "state": found.state,
        "reason": found.reason if found.state == "suspended" else None,
        "created": found.created,
        "expires": found.ends,
        "validity": "forever" if found.ends is None else None,
        "expiring": found.is_expiring(datetime.now(UTC)),
        "owner": found.owner,
    }


def _health(state: DeliveryState | None) -> Health | None:
    if state is None:
        return None
    return Health(
        cursor=str(state.cursor),
        failures=state.failures,
        next_attempt=state.next_attempt,
        last_error=state.last_error,
        disabled=state.disabled,
    )
