"""Forms (JSON bodies) of subscriptions, notifications and dead letters; and the validity that a request gives, parsed
into an expiry.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from tamis.service.base.configuration import Settings
from tamis.service.http.deliveries import DeliveryForm, PullForm, ShownDelivery, shown_delivery
from tamis.service.http.filters import FilterText, Id, Label
from tamis.service.intake.problems import Fault, Problem
from tamis.service.store import FOREVER, DeliveryState, Dialect, Kind, State, Subscription

# Validity of a subscription or advertisement: an ISO 8601 duration, seconds, a timestamp, or `forever`.

_PATTERN: Final = (
    r"^P(?=[0-9T])(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)S)?)?$"
)
# OpenAPI's patterns are JavaScript's and Rust's: without lookahead.
_SHOWN_PATTERN: Final = r"^P[0-9TWDHMS]{2,40}$"

IsoDuration = Annotated[str, StringConstraints(pattern=_SHOWN_PATTERN)]
_MOST_SECONDS: Final = 10_000_000_000
Seconds = Annotated[int, Field(ge=1, le=_MOST_SECONDS)]
_FORMS: Final = "a duration is written P7D, PT90M or P1DT12H, or as whole seconds, 1 or more"


_LONGEST: Final = timedelta(days=36_500)  # of what ends


class ValidityForm(BaseModel):
    """`validity` (`P1D`, `PT90M`, seconds, or `forever`) or `expires`, not both; neither means the server's default.

    `forever` is until it is cancelled, and the default unless the server is set otherwise.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"validity": "P7D"}]})

    validity: Seconds | Literal["forever"] | IsoDuration | None = Field(
        None, description="Validity from now; `forever`: until it is cancelled", examples=["P1D", 3600, "forever"]
    )
    expires: AwareDatetime | None = Field(None, description="End of the validity", examples=["2030-01-01T00:00:00Z"])

    @field_validator("validity", mode="wrap")
    @classmethod
    def _said_once(cls, given: object, handler: ValidatorFunctionWrapHandler) -> Any:
        """Reports a value that is neither of two types once, and not once for each."""
        try:
            if isinstance(given, bool):
                raise ValueError(_FORMS)
            return handler(given)
        except ValidationError:
            too_long = type(given) is int and given > _MOST_SECONDS
            raise ValueError(f"at most {_MOST_SECONDS:,} seconds can be asked for" if too_long else _FORMS) from None

    @model_validator(mode="after")
    def _one_of_them(self) -> ValidityForm:
        if self.validity is not None and self.expires is not None:
            raise ValueError("give validity or expires, not both")
        return self


def expiry(form: ValidityForm | None, settings: Settings, default: timedelta | None = None) -> datetime:
    """Requested time of expiry, `FOREVER` if none; a `Problem` if it has passed or is too far away.

    `default`: how long where nothing is asked for; None for what the server is set to.
    """
    now = datetime.now(UTC)
    field = "validity"
    asked: timedelta | None
    if form is not None and form.expires is not None:
        asked, field = form.expires - now, "expires"
    elif form is not None and form.validity is not None:
        asked = None if form.validity == "forever" else _duration(form.validity)
    else:
        asked = settings.validity if default is None else default
    most = settings.max_validity if isinstance(settings.max_validity, timedelta) else None
    if asked is None:
        if most is not None:
            raise _refused(f"at most {_days(most)} from now can be asked for; renew it in time", field)
        return FOREVER
    if asked <= timedelta(0):
        raise _refused("that moment has passed; give one to come", field)
    if most is not None and asked > most:
        raise _refused(f"at most {_days(most)} from now can be asked for; renew it in time", field)
    if asked > _LONGEST:
        raise _refused(f"at most {_LONGEST.days:,} days from now can be asked for; or forever", field)
    return now + asked


def _duration(given: int | str) -> timedelta:
    if isinstance(given, int):
        return timedelta(seconds=given)
    parts = re.match(_PATTERN, given)
    if parts is None:
        raise _refused(_FORMS, "validity")
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    seconds += 60 * (minutes + 60 * (hours + 24 * (days + 7 * weeks)))
    # Beyond what can be asked for anyway, and within what Python can count.
    return timedelta(seconds=min(seconds, _MOST_SECONDS))


def _days(duration: timedelta) -> str:
    return str(duration).removesuffix(", 0:00:00")


def _refused(message: str, field: str) -> Problem:
    return Problem(422, "validity", message, [Fault(message=message, field=field)])


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
    """Request for a subscription."""

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
    label: Label = Field("", description="Display name")
    kind: Kind | None = Field(None, description="Kind of the text; detected by default")
    delivery: DeliveryForm = Field(default_factory=PullForm)


class ChangeForm(BaseModel):
    """Changes of a subscription; fields left out stay. A new webhook gets a new secret."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"state": "paused"}]})

    filter: FilterText | None = None
    label: Label | None = None
    delivery: DeliveryForm | None = None
    state: Literal["active", "paused"] | None = None
    owner: Id | None = Field(
        None, description="For administrators: the new owner's key. The subscription gets a new ticket"
    )


class Health(BaseModel):
    """Health of the delivery of a webhook or Kafka subscription."""

    cursor: str
    failures: int = Field(description="Failed attempts since the last success")
    next_attempt: datetime | None = None
    last_error: str
    disabled: bool


class SubscriptionForm(BaseModel):
    """Subscription as it is now."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    id: str
    label: str
    kind: Kind
    dialect: Dialect
    filter: str = Field(description="Filter as it was written")
    canonical: str = Field(description="Filter as it is matched")
    delivery: ShownDelivery
    health: Health | None = Field(None, description="Delivery health of webhooks and Kafka, once sent to")
    state: State
    reason: str | None = Field(None, description="Reason of the suspension: the matching time that its conditions took")
    created: datetime
    expires: datetime | None = Field(None, description="End of the validity; left out: until it is cancelled")
    validity: Literal["forever"] | None = Field(None, description="`forever` if it is valid until it is cancelled")
    expiring: bool = Field(description="True if it expires soon: a notification has been sent; renew it")
    owner: str = Field(description="Id of the key that owns it; empty without one")


class CreatedForm(SubscriptionForm):
    """Created subscription with its ticket, which is shown this once and grants access without a key."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**EXAMPLE, "ticket": "tkt_dGhlIHRpY2tldCBpcyB1bmd1ZXNzYWJsZSBieSBhbnlvbmU"}]}
    )

    ticket: str


class ChangedForm(SubscriptionForm):
    """Changed subscription; with its new ticket, shown this once, if it was given to another key."""

    ticket: str | None = None


class SubscriptionPage(BaseModel):
    """Page of subscriptions, oldest first. `next` is the `after` of the next page, if there is one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [EXAMPLE], "next": 17, "total": 40}]})

    items: list[SubscriptionForm]
    next: int | None = None
    total: int = Field(description="Number of subscriptions in that state, whatever the search")


def shown(found: Subscription, state: DeliveryState | None = None, *, secret: bool = False) -> SubscriptionForm:
    """Form of a subscription, for callers who may access it."""
    return SubscriptionForm(**fields_shown(found, state, secret=secret))


def fields_shown(found: Subscription, state: DeliveryState | None = None, *, secret: bool = False) -> dict[str, Any]:
    """Fields of the form."""
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


# Notifications and dead letters, as answers and in the OpenAPI document.

_EXAMPLE: dict[str, Any] = {
    "id": "ntf_0f3c6f6f0b7c4b1f9a3e5d2c1b0a9f8e",
    "subscription": "sub_3q2-8xYhT0m5nKc7vZJdQw",
    "time": "2026-05-01T10:00:00.123456Z",
    "event_id": "evt_1f0c",
    "event": {"event_type": ["antiques"], "price": 9.5},
    "matched": [{"condition": "price < 10", "values": {"price": [9.5]}}],
    "cursor": "3355443201",
}


class ResultChangeForm(BaseModel):
    """Change of a join's content: a result that was `added` or `removed`; one that changed is removed and added.

    `begins`, always the first: what the subscriber knows counts no more, since the subscription has begun anew.
    """

    change: Literal["begins", "added", "removed"]
    id: str | None = Field(None, description="Id of the result, stable while its rows exist")
    row: dict[str, Any] | None = None


class NotificationForm(BaseModel):
    """Notification: one event for one subscription, equal in a poll, a stream, a socket, a webhook and a topic.

    One with a `type` is no match but a message about the subscription: its `event` and `matched` are empty.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str = Field(description="Id, equal in every retry: deduplicate by it")
    type: Literal["subscription.expiring"] | None = Field(
        None, description="Left out for matches. `subscription.expiring`: it expires at `expires`; renew it"
    )
    expires: datetime | None = Field(None, description="For `subscription.expiring`: end of the validity")
    subscription: str
    time: datetime = Field(description="Time at which the event was received")
    event_id: str
    event: Any = Field(description="Event as it was published")
    matched: list[Any] = Field(description="Conditions that held, with the event's values")
    bindings: dict[str, Any] = Field(
        default_factory=dict, description="Values of the filter's variables; left out if it has none"
    )
    changes: list[ResultChangeForm] = Field(
        default_factory=list, description="Changes of the content of a join; left out for filters"
    )
    cursor: str = Field(description="Cursor to continue after this notification")


class NotificationPage(BaseModel):
    """Page of notifications in the requested order. `cursor` continues the poll; `more`: there may be more now."""

    notifications: list[NotificationForm]
    cursor: str
    state: Literal["active", "paused", "suspended", "expired", "cancelled"]
    more: bool


class DeadLetterForm(BaseModel):
    """Dead letter: an event that could not be read, or a notification that could not be delivered."""

    id: int
    kind: Literal["event", "delivery"]
    subject: str = Field(description="Id of the event, or of the subscription")
    reason: str
    body: str
    detail: dict[str, Any]
    time: datetime


class DeadLetterPage(BaseModel):
    """Page of dead letters in the requested order; `next` is the `after` of the next page."""

    dead_letters: list[DeadLetterForm]
    next: int | None


class Replayed(BaseModel):
    """Result of a dead letter's replay."""

    delivered: Literal[True]
