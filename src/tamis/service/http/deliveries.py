"""Delivery modes (pull, webhook, Kafka): their forms, checks before they are stored, rotation of webhook secrets, and
the part that is shown.
"""

from __future__ import annotations

import base64
import re
import secrets
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from tamis.service.base.configuration import Settings
from tamis.service.delivery.addresses import AddressRefused, check_url
from tamis.service.delivery.webhooks import PREVIOUS, SecretError, secret_bytes
from tamis.service.intake.problems import Fault, Problem

_SECRET_BYTES: Final = 32
_MOST_CALLS: Final = 10_000  # whatever a server is set to
_MOST_BEFORE: Final = 3  # secrets that sign beside the present one
DAY: Final = 86_400
_LONGEST_OVERLAP: Final = 30 * DAY
_CREDENTIAL: Final = re.compile(
    "auth|token|key|secret|signature|cookie|passw|pwd|credential|session|bearer|jwt|ticket", re.IGNORECASE
)
_RESERVED: Final = frozenset(
    ["host", "content-length", "content-type", "transfer-encoding", "connection", "te", "trailer", "upgrade", "expect"]
)

CALLS: Final = ("parallel", "batch")
"""The members of a webhook's delivery that say how it is called; left out of a stored one where they are 1."""

HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,100}$")]
HeaderValue = Annotated[str, StringConstraints(pattern=r"^[ -~]{0,1000}$")]


class PullForm(BaseModel):
    """Pull delivery: the subscriber reads by polling, server-sent events or WebSocket."""

    model_config = ConfigDict(extra="forbid")

    mode: Literal["pull"] = "pull"


class WebhookForm(BaseModel):
    """Webhook delivery: each notification is posted to a URL, signed by Standard Webhooks."""

    model_config = ConfigDict(extra="forbid")

    mode: Literal["webhook"]
    url: Annotated[str, StringConstraints(pattern=r"^https?://[!-~]+$", max_length=2000)] = Field(
        examples=["https://example.org/hook"]
    )
    headers: dict[HeaderName, HeaderValue] = Field(
        default_factory=dict, max_length=20, examples=[{"X-Team": "antiques"}]
    )
    format: Literal["tamis", "cloudevents"] = "tamis"
    parallel: Annotated[int, Field(ge=1, le=_MOST_CALLS)] = Field(
        1,
        description="Calls under way at a time; with more than 1, notifications may arrive out of order",
        examples=[8],
    )
    batch: Annotated[int, Field(ge=1, le=_MOST_CALLS)] = Field(
        1,
        description="Notifications in one call; with more than 1, every call has an array: "
        "CloudEvents' batched mode, or a list of notifications",
        examples=[100],
    )

    @field_validator("headers")
    @classmethod
    def _free_names(cls, headers: dict[str, str]) -> dict[str, str]:
        for name in headers:
            if name.lower() in _RESERVED or name.lower().startswith(("webhook-", "ce-")):
                raise ValueError(f"the header {name} is set by the server")
        return headers


class KafkaForm(BaseModel):
    """Kafka delivery: each notification is a record of a topic, keyed by the subscription's id."""

    model_config = ConfigDict(extra="forbid")

    mode: Literal["kafka"]
    topic: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,249}$")] = Field(examples=["antiques"])


DeliveryForm = Annotated[PullForm | WebhookForm | KafkaForm, Field(discriminator="mode")]


class ShownDelivery(BaseModel):
    """Delivery as it is shown; `secret` is there only in the answer that created it."""

    mode: Literal["pull", "webhook", "kafka"]
    url: str | None = None
    headers: dict[str, str] | None = None
    format: Literal["tamis", "cloudevents"] | None = None
    parallel: int | None = Field(None, description="Calls under way at a time, if more than 1")
    batch: int | None = Field(None, description="Notifications in one call, if more than 1")
    topic: str | None = None
    secret: str | None = Field(None, description="Secret that signs the webhooks (Standard Webhooks); shown only once")


class RotationForm(BaseModel):
    """A new secret for a webhook. Until `overlap` has passed, calls are signed with the secrets before it too."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"overlap": 3600}]})

    overlap: Annotated[int, Field(ge=0, le=_LONGEST_OVERLAP)] = Field(
        DAY, description="Seconds for which the secrets before it sign as well; 0: they sign nothing more at once"
    )
    secret: Annotated[str, StringConstraints(pattern=r"^whsec_[A-Za-z0-9+/]{32,88}={0,2}$")] | None = Field(
        None, description="The new secret, `whsec_` and 24 to 64 random bytes in base64; left out, the server makes one"
    )


async def stored_delivery(form: PullForm | WebhookForm | KafkaForm, settings: Settings) -> dict[str, Any]:
    """Delivery as the store keeps it, a new secret included; a `Problem` if it is not allowed."""
    match form:
        case WebhookForm():
            await _require_callable(form.url, settings)
            _require_within("parallel", form.parallel, settings.delivery.parallel)
            _require_within("batch", form.batch, settings.delivery.batch)
            given = form.model_dump()
            # Left out where they are as they were before there was a choice.
            kept = {name: value for name, value in given.items() if name not in CALLS or value > 1}
            return {**kept, "secret": _new_secret()}
        case KafkaForm():
            _require_topic(form.topic, settings)
            return form.model_dump()
        case _:
            return {"mode": "pull"}


def rotated(delivery: dict[str, Any], form: RotationForm, now: float) -> dict[str, Any]:
    """The stored delivery of a webhook with another secret; those before it, not too many, sign until they are over.

    To ask again with the secret that it has changes nothing but when the others are over.
    """
    if delivery["mode"] != "webhook":
        raise Problem(409, "conflict", "only webhooks have a secret; this subscription is not delivered by one")
    if form.secret is not None:
        try:
            secret_bytes(form.secret)
        except SecretError as error:
            raise _refused(str(error), "secret") from None
    old, new, until = delivery.get("secret"), form.secret or _new_secret(), int(now + form.overlap)
    before = [{"secret": one["secret"], "until": min(one["until"], until)} for one in delivery.get(PREVIOUS) or ()]
    if old is not None:
        before.insert(0, {"secret": old, "until": until})
    still = [one for one in before if one["until"] > now and one["secret"] != new]
    if len(still) > _MOST_BEFORE:
        message = (
            f"{_MOST_BEFORE} secrets before this one sign already; wait until one is over, or give an overlap of 0"
        )
        raise Problem(409, "conflict", message, [Fault(message=message, field="overlap")])
    rest = {name: value for name, value in delivery.items() if name != PREVIOUS}
    return {**rest, "secret": new, **({PREVIOUS: still} if still else {})}


def _new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def _require_within(name: str, asked: int, most: int) -> None:
    if asked > most:
        raise _refused(f"this server allows {most} at most", f"delivery.{name}")


def shown_delivery(delivery: dict[str, Any], *, secret: bool = False) -> ShownDelivery:
    """Visible part of a stored delivery."""
    names = ShownDelivery.model_fields.keys() - (set() if secret else {"secret"})
    seen = {name: value for name, value in delivery.items() if name in names}
    if headers := seen.get("headers"):
        # What an endpoint asks for is as secret as a key, also to those who know the subscription.
        seen["headers"] = {name: "…" if is_credential(name) else value for name, value in headers.items()}
    return ShownDelivery(**seen)


def is_credential(name: str) -> bool:
    """True if the header's name suggests a credential, which is never shown. Hiding one header too many does no harm:
    it is sent all the same.
    """
    return _CREDENTIAL.search(name) is not None


async def _require_callable(url: str, settings: Settings) -> None:
    try:
        await check_url(url, allow_private=settings.delivery.allow_private)
    except AddressRefused as error:
        raise _refused(str(error), "delivery.url") from None


def _require_topic(topic: str, settings: Settings) -> None:
    if settings.delivery.kafka is None:
        raise _refused("this server delivers to no Kafka; it is set by delivery.kafka", "delivery.mode")
    log = urlsplit(settings.log)
    events = unquote(log.path.strip("/")) if log.scheme == "kafka" else ""
    if topic in (".", "..") or topic.startswith("__") or topic in (events, f"{events}.keys"):
        raise _refused("this topic is not for notifications; name another", "delivery.topic")


def _refused(message: str, field: str) -> Problem:
    return Problem(422, "delivery", message, [Fault(message=message, field=field)])
