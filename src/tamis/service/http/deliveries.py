"""Forms of delivery modes (pull, webhook, Kafka), checked before they are stored."""

from __future__ import annotations

import base64
import re
import secrets
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from tamis.service.base.configuration import Settings
from tamis.service.delivery.addresses import AddressRefused, check_url
from tamis.service.intake.problems import Fault, Problem

_SECRET_BYTES: Final = 32
_CREDENTIAL: Final = re.compile(
    "auth|token|key|secret|signature|cookie|passw|pwd|credential|session|bearer|jwt|ticket", re.IGNORECASE
)
_RESERVED: Final = frozenset(
    ["host", "content-length", "content-type", "transfer-encoding", "connection", "te", "trailer", "upgrade", "expect"]
)

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
    topic: str | None = None
    secret: str | None = Field(None, description="Secret that signs the webhooks (Standard Webhooks); shown only once")


async def stored_delivery(form: PullForm | WebhookForm | KafkaForm, settings: Settings) -> dict[str, Any]:
    """Delivery as the store keeps it, a new secret included; a `Problem` if it is not allowed."""
    match form:
        case WebhookForm():
            await _require_callable(form.url, settings)
            secret = "whsec_" + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()
            return {**form.model_dump(), "secret": secret}
        case KafkaForm():
            _require_topic(form.topic, settings)
            return form.model_dump()
        case _:
            return {"mode": "pull"}


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
