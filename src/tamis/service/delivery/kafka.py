"""Notifications as messages on Kafka topics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from tamis.eventlog.kafka.kafka_address import KafkaAddress
from tamis.service.base.configuration import DeliverySettings
from tamis.service.base.notification import Notification
from tamis.service.delivery.webhook import Undelivered
from tamis.service.store import Subscription


class Producer(Protocol):
    """Producer of aiokafka, as far as it is needed."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def send_and_wait(self, topic: str, value: bytes, key: bytes, headers: Any = None) -> Any: ...


class KafkaChannel:
    """Sends each notification under its subscription's id as key, and waits for all replicas to have it."""

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
        """Lets go of the producer; the next notification has a new one."""
        producer, self._started = self._started, None
        if producer is not None:
            await producer.stop()
