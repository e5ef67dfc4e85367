"""Kafka topics: notifications as records, sent by batches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

from tamis.eventlog.kafka.kafka_address import KafkaAddress
from tamis.service.base.configuration import DeliverySettings
from tamis.service.base.events import Notification
from tamis.service.delivery.channels import CallLimits, Undelivered
from tamis.service.store import Subscription

_BATCH: Final = 500
_BATCH_BYTES: Final = 128 << 10  # of a producer's request to one partition


class Producer(Protocol):
    """Producer of aiokafka, as far as it is needed."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def send(self, topic: str, value: bytes, key: bytes, headers: Any = None) -> Awaitable[Any]: ...


class KafkaChannel:
    """Sends notifications under their subscription's id as key, and waits for all replicas to have them.

    Records of a batch are sent without waiting in between. The producer is idempotent, so they keep their order.
    """

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

    def limits(self, subscription: Subscription) -> CallLimits:
        return CallLimits(1, _BATCH)

    async def send(self, notifications: Sequence[Notification]) -> None:
        if self._address is None:
            raise Undelivered("this server has no Kafka to deliver to (delivery.kafka)", fault=False)
        from aiokafka.errors import KafkaError, MessageSizeTooLargeError

        from tamis.eventlog.kafka.kafka_log import ends_producer

        producer: Producer | None = None
        sent: list[tuple[int, asyncio.Future[Any]]] = []
        try:
            async with asyncio.timeout(self._timeout):
                producer = await self._ready()
                try:
                    for one in notifications:
                        begun = await self._begun(producer, one)
                        sent.append((one.position, begun))
                except KafkaError:
                    # One was refused; those before it are on their way.
                    await _settled(sent)
                    raise
                await _settled(sent)
                for _, acknowledged in sent:
                    acknowledged.result()
        except TimeoutError as error:
            reason = f"no acknowledgement within {self._timeout:g} seconds"
            raise Undelivered(reason, acknowledged=_acknowledged(sent)) from error
        except (KafkaError, OSError) as error:
            # Another one's failure may have replaced it already.
            if producer is self._started and ends_producer(error):
                await self.close()
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            refused = isinstance(error, MessageSizeTooLargeError)
            raise Undelivered(reason, fault=not refused, refused=refused, acknowledged=_acknowledged(sent)) from error

    async def _begun(self, producer: Producer, notification: Notification) -> asyncio.Future[Any]:
        subscription = notification.subscription
        key, headers = subscription.id.encode(), [("id", notification.id.encode())]
        topic = str(subscription.delivery["topic"])
        return asyncio.ensure_future(await producer.send(topic, notification.body, key=key, headers=headers))

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
        producer: Producer = AIOKafkaProducer(
            **self._address.client(), acks="all", enable_idempotence=True, max_batch_size=_BATCH_BYTES
        )
        return producer

    async def close(self) -> None:
        """Lets go of the producer; the next notification has a new one."""
        producer, self._started = self._started, None
        if producer is not None:
            await producer.stop()


async def _settled(sent: Sequence[tuple[int, asyncio.Future[Any]]]) -> None:
    if sent:
        await asyncio.wait([acknowledged for _, acknowledged in sent])


def _acknowledged(sent: Sequence[tuple[int, asyncio.Future[Any]]]) -> list[int]:
    """Positions of the records that arrived although the batch did not."""
    return [at for at, future in sent if future.done() and not future.cancelled() and future.exception() is None]
