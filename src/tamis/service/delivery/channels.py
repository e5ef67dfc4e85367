"""Channels that push notifications: webhooks, signed by Standard Webhooks, and Kafka topics."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import ssl
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, Final, Protocol

import httpcore
import httpx

from tamis.errors import TamisError
from tamis.eventlog.kafka.kafka_address import KafkaAddress
from tamis.service.base.configuration import DeliverySettings
from tamis.service.base.events import Notification
from tamis.service.delivery.addresses import AddressRefused, CheckedTransport, Endpoint, Resolve, Resolver, endpoint_of
from tamis.service.delivery.matched import structured_event
from tamis.service.store import Subscription

# Webhooks: notifications as HTTP calls, signed by Standard Webhooks.

# Clock, replaceable in tests.


class Clock(Protocol):
    """Clock that tells the time, and sleeps."""

    def now(self) -> datetime: ...
    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """System clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


# Protocol of channels.


class Undelivered(TamisError):  # noqa: N818 - reads as what happened
    """Failed attempt. `fault`: the endpoint is to blame, not the notification; `gone`: it wants nothing more.

    `retry_after` are the seconds that it asked to be left alone.
    """

    def __init__(self, reason: str, *, fault: bool = True, gone: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fault = fault
        self.gone = gone
        self.retry_after = retry_after


class Channel(Protocol):
    """Protocol of a channel that pushes notifications to subscribers. At most `most_at_once` attempts run at one
    endpoint.
    """

    most_at_once: int

    def endpoint(self, subscription: Subscription) -> Hashable:
        """Endpoint of a subscription: subscriptions with the same endpoint fail together."""
        ...

    async def send(self, notification: Notification) -> None:
        """Returns once the subscriber has the notification; else raises `Undelivered`."""
        ...

    async def close(self) -> None: ...


_READ_BYTES: Final = 16 << 10
_AGENT: Final = "Tamis (Standard Webhooks)"
_OWN: Final = ("content-length", "content-type", "host", "connection", "transfer-encoding", "user-agent")
_PREFIX: Final = "whsec_"
_SHORTEST, _LONGEST = 24, 64
_URLS: Final = 10_000  # URLs of which it is remembered what server they name


class SecretError(TamisError):
    """Text that is not a valid webhook secret."""


class WebhookChannel:
    """Posts each notification to its subscription's URL. No redirects, no proxies; answers are hardly read."""

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
        transport = CheckedTransport(resolve or self._resolver, settings.allow_private, 2 * settings.concurrency, tls)
        timeout = httpx.Timeout(settings.timeout, connect=settings.connect_timeout)
        self._client = httpx.AsyncClient(transport=transport, timeout=timeout, trust_env=False, follow_redirects=False)

    def endpoint(self, subscription: Subscription) -> Endpoint:
        """Server of the URL; for a URL that may not be called, an endpoint that never answers."""
        server = self._server(str(subscription.delivery["url"]))
        return Endpoint("refused", str(subscription.number), 0) if isinstance(server, str) else server

    def _checked(self, url: str) -> Endpoint | str:
        """Server that a URL names, or the reason why it may not be called."""
        try:
            return endpoint_of(url, allow_private=self._settings.allow_private)
        except AddressRefused as error:
            return str(error)

    async def send(self, notification: Notification) -> None:
        delivery = notification.subscription.delivery
        server = self._server(str(delivery["url"]))
        if isinstance(server, str):
            raise Undelivered(server, fault=False)
        try:
            content, headers = self._content(notification)
        except SecretError as error:
            raise Undelivered(str(error), fault=False) from error
        try:
            async with asyncio.timeout(self._settings.timeout):
                status, wait = await self._post(str(delivery["url"]), content, headers)
        except TimeoutError as error:
            raise Undelivered(f"no answer within {self._settings.timeout:g} seconds") from error
        except AddressRefused as error:
            raise Undelivered(str(error), fault=False) from error
        except (
            httpx.TransportError,
            httpcore.NetworkError,
            httpcore.TimeoutException,
            httpcore.ProtocolError,
        ) as error:
            raise Undelivered(f"{type(error).__name__}: {error}".rstrip(": ")) from error
        if not 200 <= status < 300:
            # Below 500 the endpoint works, and does not like what it was sent.
            raise Undelivered(f"answered {status}", fault=status >= 500, gone=status == 410, retry_after=wait)

    def _content(self, notification: Notification) -> tuple[bytes, dict[str, str]]:
        delivery = notification.subscription.delivery
        content, kind = notification.body, "application/json"
        if delivery.get("format") == "cloudevents":
            content, kind = structured_event(notification), "application/cloudevents+json; charset=UTF-8"
        given = {str(name): str(value) for name, value in (delivery.get("headers") or {}).items()}
        headers = {name: value for name, value in given.items() if name.lower() not in _OWN}
        timestamp = int(self._clock.now().timestamp())
        headers |= {"content-type": kind, "user-agent": _AGENT}
        return content, headers | signed_headers(delivery.get("secret"), notification.id, timestamp, content)

    async def _post(self, url: str, content: bytes, headers: dict[str, str]) -> tuple[int, float]:
        async with self._client.stream("POST", url, content=content, headers=headers) as answer:
            read = 0
            # A short answer is read so that the connection can be used again; a long one costs its connection.
            async for part in answer.aiter_raw():
                read += len(part)
                if read > _READ_BYTES:
                    break
            return answer.status_code, retry_after(answer.headers.get("retry-after"), self._clock.now())

    async def close(self) -> None:
        await self._client.aclose()
        self._resolver.close()


def secret_bytes(secret: str) -> bytes:
    """Key encoded in a webhook secret; `SecretError` unless it is 24 to 64 bytes in base64 after `whsec_`."""
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True) if secret.startswith(_PREFIX) else b""
    except (binascii.Error, ValueError):
        key = b""
    if not _SHORTEST <= len(key) <= _LONGEST:
        raise SecretError(f"a webhook's secret is {_PREFIX} and {_SHORTEST} to {_LONGEST} random bytes in base64")
    return key


def signed_headers(secret: str | None, id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Three headers of Standard Webhooks for one attempt; without a secret, the two that need none.

    By its signature (symmetric, version 1) a receiver knows that a webhook is from here.
    """
    headers = {"webhook-id": id, "webhook-timestamp": str(timestamp)}
    if secret is None:
        return headers
    signed = hmac.digest(secret_bytes(secret), b"%b.%d.%b" % (id.encode(), timestamp, body), "sha256")
    return {**headers, "webhook-signature": f"v1,{base64.b64encode(signed).decode()}"}


def retry_after(header: str | None, now: datetime) -> float:
    """Seconds that a Retry-After header asks for; 0 if it asks for none or cannot be read."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:10])
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    aware = until.replace(tzinfo=UTC) if until.tzinfo is None else until
    return max(0.0, (aware - now).total_seconds())


class Producer(Protocol):
    """Producer of aiokafka, as far as it is used here."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def send_and_wait(self, topic: str, value: bytes, key: bytes, headers: Any = None) -> Any: ...


class KafkaChannel:
    """Sends each notification to a topic, keyed by its subscription's id, and waits until all replicas have it."""

    most_at_once = 32

    def __init__(self, settings: DeliverySettings, make: Callable[[], Producer] | None = None) -> None:
        self._address = KafkaAddress.parse(settings.kafka) if settings.kafka else None
        self._timeout = settings.timeout
        self._make = make or self._producer
        self._started: Producer | None = None
        self._starting = asyncio.Lock()

    def endpoint(self, subscription: Subscription) -> str:
        # A topic that cannot be written to is the trouble of those who named it.
        return f"kafka topic {subscription.delivery['topic']}"

    async def send(self, notification: Notification) -> None:
        if self._address is None:
            raise Undelivered("this server has no Kafka to deliver to (delivery.kafka)", fault=False)
        from aiokafka.errors import KafkaError

        from tamis.eventlog.kafka.kafka_log import ends_producer

        topic = str(notification.subscription.delivery["topic"])
        producer: Producer | None = None
        try:
            async with asyncio.timeout(self._timeout):
                producer = await self._ready()
                key = notification.subscription.id.encode()
                headers = [("id", notification.id.encode())]
                await producer.send_and_wait(topic, notification.body, key=key, headers=headers)
        except TimeoutError as error:
            raise Undelivered(f"no acknowledgement within {self._timeout:g} seconds") from error
        except (KafkaError, OSError) as error:
            # Another one's failure may have replaced it already.
            if producer is self._started and ends_producer(error):
                await self.close()
            raise Undelivered(f"{type(error).__name__}: {error}".rstrip(": ")) from error

    async def _ready(self) -> Producer:
        async with self._starting:
            if self._started is None:
                producer = self._make()
                try:
                    await producer.start()
                except BaseException:
                    await producer.stop()
                    raise
                self._started = producer
            return self._started

    def _producer(self) -> Producer:
        from aiokafka import AIOKafkaProducer

        assert self._address is not None
        producer: Producer = AIOKafkaProducer(**self._address.client(), acks="all", enable_idempotence=True)
        return producer

    async def close(self) -> None:
        """Closes the producer; the next notification opens a new one."""
        producer, self._started = self._started, None
        if producer is not None:
            await producer.stop()
