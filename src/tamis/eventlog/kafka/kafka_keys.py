"""Idempotency keys of events on a topic: kept on a topic beside it, `<topic>.keys`, for a day."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import TopicAlreadyExistsError, for_code

from tamis.eventlog.base.event_log import KEPT_FOR, Keyed, RememberedKeys
from tamis.eventlog.kafka.kafka_address import KafkaAddress

_READ_MS: Final = 1000
_COPIES: Final = 3


def keys_topic(topic: str) -> str:
    """The topic of the keys of a topic."""
    return f"{topic}.keys"


class KafkaKeys:
    """The keys of a topic, read as far as asked. For one loop, one task at a time in `catch_up`.

    A key is written after its events. A crash between the two leaves events without it, and a repeat is appended
    once more, under the same event ids.
    """

    def __init__(self, address: KafkaAddress) -> None:
        self._address = address
        self._place = TopicPartition(keys_topic(address.topic), 0)
        self._known = RememberedKeys()
        self._consumer = AIOKafkaConsumer(**address.client(), enable_auto_commit=False)

    async def start(self) -> None:
        """Makes the topic if need be, and reads what is there."""
        admin = AIOKafkaAdminClient(**self._address.client())
        await admin.start()
        try:
            if self._place.topic not in await admin.list_topics():
                await self._make_topic(admin)
        finally:
            await admin.close()
        await self._consumer.start()
        self._consumer.assign([self._place])
        await self._consumer.seek_to_beginning(self._place)

    async def _make_topic(self, admin: AIOKafkaAdminClient) -> None:
        copies = min(_COPIES, len((await admin.describe_cluster())["brokers"]))
        settings = {"retention.ms": str(int(KEPT_FOR.total_seconds() * 1000))}
        new = NewTopic(self._place.topic, num_partitions=1, replication_factor=copies, topic_configs=settings)
        told = await admin.create_topics([new])
        for _, code, *_ in told.topic_errors:
            error = for_code(code)
            if code and error is not TopicAlreadyExistsError:
                raise error(f"the topic {self._place.topic} cannot be made")

    async def catch_up(self) -> None:
        """Reads every key that was written before now, by whomever."""
        end = (await self._consumer.end_offsets([self._place]))[self._place]
        self._consumer.resume(self._place)
        while await self._consumer.position(self._place) < end:
            read = await self._consumer.getmany(self._place, timeout_ms=_READ_MS)
            for record in read.get(self._place, ()):
                # Whoever else writes to this topic must not keep everybody from publishing.
                with suppress(struct.error, TypeError):
                    self._known.add(Keyed.from_bytes(record.value))
        # Else it would fetch on, and the next question wait behind a fetch that finds nothing.
        self._consumer.pause(self._place)

    def find(self, key: bytes, now: int) -> Keyed | None:
        """The append under this key, if it is not too long ago."""
        return self._known.find(key, now)

    async def add(self, producer: AIOKafkaProducer, keyed: Keyed) -> None:
        """Makes a key durable."""
        await producer.send_and_wait(
            self._place.topic, keyed.to_bytes(), key=keyed.key, partition=self._place.partition
        )
        self._known.add(keyed)

    async def stop(self) -> None:
        """Lets go of the connection."""
        await self._consumer.stop()
