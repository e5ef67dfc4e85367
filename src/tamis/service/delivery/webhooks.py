"""Webhooks: notifications as HTTP calls, one a call or in arrays, with secrets and signatures of Standard Webhooks."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import ssl
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

import httpcore

from tamis.errors import TamisError
from tamis.service.base.configuration import DeliverySettings
from tamis.service.base.events import Notification
from tamis.service.delivery.addresses import AddressRefused, CheckedBackend, Endpoint, Resolve, Resolver, endpoint_of
from tamis.service.delivery.channels import CallLimits, Clock, Undelivered
from tamis.service.delivery.connections import Connections, Header, Target
from tamis.service.delivery.matched import structured_event
from tamis.service.store import Subscription

PREVIOUS: Final = "previous_secrets"
"""The member of a stored delivery that has the secrets before the present one, each with the second until which it
signs too."""

_AGENT: Final = b"Tamis (Standard Webhooks)"
_OWN: Final = ("content-length", "content-type", "host", "connection", "transfer-encoding", "user-agent", "accept")
_PREFIX: Final = "whsec_"
_SHORTEST, _LONGEST = 24, 64
_URLS: Final = 10_000  # URLs of which it is remembered what server they name
_SECRETS: Final = 10_000
_AGAIN: Final = (408, 410, 425, 429)  # answers below 500 that say nothing of what was sent


class SecretError(TamisError):
    """A text that is no webhook secret."""


class WebhookChannel:
    """Posts notifications to their subscription's URL, one a call or an array. No redirects, no proxies, answers hardly
    read. A connection is kept alive and used again; at most two for each call that may be under way stay open idle."""

    most_at_once = 8

    def __init__(
        self,
        settings: DeliverySettings,
        clock: Clock,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._server = lru_cache(_URLS)(self._checked)
        self._resolver = Resolver()
        backend = CheckedBackend(resolve or self._resolver, settings.allow_private)
        self._connections = Connections(backend, 2 * settings.concurrency, settings.connect_timeout, tls)

    def endpoint(self, subscription: Subscription) -> Endpoint:
        """The server; of a URL that may not be called, one that never answers."""
        server = self._server(str(subscription.delivery["url"]))
        return Endpoint("refused", str(subscription.number), 0) if isinstance(server, str) else server[0]

    def limits(self, subscription: Subscription) -> CallLimits:
        """What the subscriber asked for, within what the server allows by now."""
        delivery = subscription.delivery
        return CallLimits(
            min(int(delivery.get("parallel", 1)), self._settings.parallel),
            min(int(delivery.get("batch", 1)), self._settings.batch),
        )

    def _checked(self, url: str) -> tuple[Endpoint, Target] | str:
        """The server that a URL names, or why it may not be called."""
        try:
            return endpoint_of(url, allow_private=self._settings.allow_private), Target.of(url)
        except AddressRefused as error:
            return str(error)

    async def send(self, notifications: Sequence[Notification]) -> None:
        delivery = notifications[0].subscription.delivery
        server = self._server(str(delivery["url"]))
        if isinstance(server, str):
            raise Undelivered(server, fault=False)
        content, kind = call_content(notifications)
        try:
            headers = self._headers(delivery, call_id(notifications), kind, content)
        except SecretError as error:
            raise Undelivered(str(error), fault=False) from error
        try:
            async with asyncio.timeout(self._settings.timeout):
                status, answered = await self._connections.post(server[1], headers, content)
        except TimeoutError as error:
            raise Undelivered(f"no answer within {self._settings.timeout:g} seconds") from error
        except AddressRefused as error:
            raise Undelivered(str(error), fault=False) from error
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
            raise Undelivered(f"{type(error).__name__}: {error}".rstrip(": ")) from error
        if not 200 <= status < 300:
            asked = next((value.decode("latin-1") for name, value in answered if name.lower() == b"retry-after"), None)
            # Below 500 the endpoint works, and does not like what it was sent.
            raise Undelivered(
                f"answered {status}",
                fault=status >= 500,
                gone=status == 410,
                refused=400 <= status < 500 and status not in _AGAIN,
                retry_after=retry_after(asked, self._clock.now()),
            )

    def _headers(self, delivery: Mapping[str, Any], id: str, kind: bytes, content: bytes) -> list[Header]:
        given = {str(name): str(value) for name, value in (delivery.get("headers") or {}).items()}
        now = int(self._clock.now().timestamp())
        signed = signed_headers(delivery.get("secret"), id, now, content, secrets_before(delivery, now))
        written = [(name.encode(), value.encode()) for name, value in given.items() if name.lower() not in _OWN]
        written += [(name.encode(), value.encode()) for name, value in signed.items()]
        return [*written, (b"content-type", kind), (b"user-agent", _AGENT)]

    async def close(self) -> None:
        await self._connections.close()
        self._resolver.close()


def call_id(notifications: Sequence[Notification]) -> str:
    """The id of a call: its notification's, or a function of those of several, so that a repeat has it again."""
    if len(notifications) == 1:
        return notifications[0].id
    ids = "\0".join(notification.id for notification in notifications)
    return "ntfs_" + blake2b(ids.encode(), digest_size=16).hexdigest()


def call_content(notifications: Sequence[Notification]) -> tuple[bytes, bytes]:
    """The body of a call and its content type: an array, even of one, where the endpoint takes arrays."""
    delivery = notifications[0].subscription.delivery
    cloudevents, batched = delivery.get("format") == "cloudevents", delivery.get("batch", 1) > 1
    bodies = [structured_event(one) if cloudevents else one.body for one in notifications]
    if not batched:
        (body,) = bodies
        return body, b"application/cloudevents+json; charset=UTF-8" if cloudevents else b"application/json"
    kind = b"application/cloudevents-batch+json; charset=UTF-8" if cloudevents else b"application/json"
    return b"[%b]" % b",".join(bodies), kind


# Standard Webhooks (symmetric, version 1): by its signature a receiver knows that a call is from here.


@lru_cache(_SECRETS)
def secret_bytes(secret: str) -> bytes:
    """The key that a secret stands for; `SecretError` unless it is 24 to 64 bytes in base64 after `whsec_`."""
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True) if secret.startswith(_PREFIX) else b""
    except (binascii.Error, ValueError):
        key = b""
    if not _SHORTEST <= len(key) <= _LONGEST:
        raise SecretError(f"a webhook's secret is {_PREFIX} and {_SHORTEST} to {_LONGEST} random bytes in base64")
    return key


def secrets_before(delivery: Mapping[str, Any], now: float) -> list[str]:
    """The secrets that were rotated away and still sign, the newest first."""
    return [str(one["secret"]) for one in delivery.get(PREVIOUS) or () if one["until"] > now]


def signed_headers(
    secret: str | None, id: str, timestamp: int, body: bytes, before: Sequence[str] = ()
) -> dict[str, str]:
    """The three headers of Standard Webhooks for one attempt; without a secret, the two that need none.

    While a secret is being rotated, those `before` it sign as well: a receiver that knows one of them is content.
    """
    headers = {"webhook-id": id, "webhook-timestamp": str(timestamp)}
    if secret is None:
        return headers
    signed = b"%b.%d.%b" % (id.encode(), timestamp, body)
    signatures = [hmac.digest(secret_bytes(one), signed, "sha256") for one in (secret, *before)]
    written = " ".join(f"v1,{base64.b64encode(signature).decode()}" for signature in signatures)
    return {**headers, "webhook-signature": written}


def retry_after(header: str | None, now: datetime) -> float:
    """The seconds that a Retry-After header asks for, 0 if it asks for none or cannot be read."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:10])
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    aware = until.replace(tzinfo=UTC) if until.tzinfo is None else until
    return max(0.0, (aware - now).total_seconds())
