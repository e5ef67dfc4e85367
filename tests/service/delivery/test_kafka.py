"""Notifications on topics of Kafka, whose producer may fail for a while or for good."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka.errors import KafkaTimeoutError, MessageSizeTooLargeError, OutOfOrderSequenceNumber

from tamis.service.base.configuration import DeliverySettings
from tamis.service.base.events import Notification
from tamis.service.delivery.channels import Undelivered
from tamis.service.delivery.topics import KafkaChannel
from tamis.service.store import Store
from tests.service.delivery.made import NOON, run, subscribed


class FakeProducer:
    """A Kafka that keeps what it is sent, and acknowledges when a test lets it."""

    def __init__(self, failure: Exception | None = None, prompt: bool = True) -> None:
        self.failure = failure
        self.prompt = prompt
        self.sent: list[tuple[str, bytes, bytes]] = []
        self.futures: list[asyncio.Future[None]] = []
        self.running = 0

    async def start(self) -> None:
        self.running += 1
        if self.failure is not None:
            raise self.failure

    async def stop(self) -> None:
        self.running -= 1

    async def send(self, topic: str, value: bytes, key: bytes, headers: object = None) -> asyncio.Future[None]:
        self.sent.append((topic, key, value))
        self.futures.append(asyncio.get_running_loop().create_future())
        if self.prompt:
            self.futures[-1].set_result(None)
        return self.futures[-1]


def _on_topic(store: Store, count: int = 1) -> list[Notification]:
    subscription = subscribed(store, delivery={"mode": "kafka", "topic": "told"})
    return [
        Notification(f"ntf_{at}", subscription, at, "evt", NOON, "{}", b'{"cursor":"%d"}' % at)
        for at in range(1, count + 1)
    ]


def test_a_topic_gets_notifications_under_the_subscriptions_id(store: Store) -> None:
    async def send() -> None:
        producer = FakeProducer()
        channel = KafkaChannel(DeliverySettings(kafka="broker:9092"), lambda: producer)
        (notification,) = notifications = _on_topic(store)
        await channel.send(notifications)
        await channel.send(notifications)
        assert producer.sent == [("told", notification.subscription.id.encode(), notification.body)] * 2
        assert producer.running == 1
        await channel.close()
        assert producer.running == 0

    run(send())


def test_the_records_of_a_batch_are_sent_without_waiting_for_each_other(store: Store) -> None:
    async def send() -> None:
        producer = FakeProducer(prompt=False)
        channel = KafkaChannel(DeliverySettings(kafka="broker:9092"), lambda: producer)
        notifications = _on_topic(store, 50)
        assert channel.limits(notifications[0].subscription).batch >= 50
        sending = asyncio.create_task(channel.send(notifications))
        while len(producer.sent) < 50:
            await asyncio.sleep(0)
        assert [value for *_, value in producer.sent] == [one.body for one in notifications]
        for future in producer.futures[:-1]:
            future.set_result(None)
        await asyncio.sleep(0)
        assert not sending.done(), "one of them is not acknowledged yet"
        producer.futures[-1].set_result(None)
        await sending
        await channel.close()

    run(send())


def test_of_a_batch_that_fails_it_is_known_what_arrived(store: Store) -> None:
    async def send() -> None:
        producer = FakeProducer(prompt=False)
        channel = KafkaChannel(DeliverySettings(kafka="broker:9092"), lambda: producer)
        sending = asyncio.create_task(channel.send(_on_topic(store, 4)))
        while len(producer.futures) < 4:
            await asyncio.sleep(0)
        for at, future in enumerate(producer.futures):
            future.set_exception(KafkaTimeoutError()) if at == 2 else future.set_result(None)
        with pytest.raises(Undelivered) as raised:
            await sending
        assert (set(raised.value.acknowledged), raised.value.fault) == ({1, 2, 4}, True)

    run(send())


def test_a_record_that_is_too_large_is_refused_and_those_before_it_arrive(store: Store) -> None:
    class Narrow(FakeProducer):
        async def send(self, topic: str, value: bytes, key: bytes, headers: object = None) -> asyncio.Future[None]:
            if len(self.sent) == 2:
                raise MessageSizeTooLargeError
            return await super().send(topic, value, key, headers)

    async def send() -> None:
        channel = KafkaChannel(DeliverySettings(kafka="broker:9092"), Narrow)
        with pytest.raises(Undelivered) as raised:
            await channel.send(_on_topic(store, 4))
        assert (set(raised.value.acknowledged), raised.value.refused, raised.value.fault) == ({1, 2}, True, False)

    run(send())


def test_a_topic_that_fails_is_nobody_elses_trouble(store: Store) -> None:
    channel = KafkaChannel(DeliverySettings(kafka="broker:9092"))
    one, other = (subscribed(store, delivery={"mode": "kafka", "topic": topic}) for topic in ("a", "b"))
    assert channel.endpoint(one) != channel.endpoint(other)


def test_a_producer_that_will_never_send_again_is_replaced(store: Store) -> None:
    class Broken(FakeProducer):
        async def send(self, topic: str, value: bytes, key: bytes, headers: object = None) -> asyncio.Future[None]:
            raise OutOfOrderSequenceNumber

    async def send() -> None:
        broken, sound = Broken(), FakeProducer()
        producers = iter([broken, sound])
        channel = KafkaChannel(DeliverySettings(kafka="broker:9092"), lambda: next(producers))
        with pytest.raises(Undelivered):
            await channel.send(_on_topic(store))
        assert broken.running == 0
        await channel.send(_on_topic(store))
        assert len(sound.sent) == 1
        await channel.close()

    run(send())


def test_a_kafka_that_fails_or_is_not_there_is_tried_again(store: Store) -> None:
    async def send() -> None:
        notifications = _on_topic(store)
        producer = FakeProducer(OSError("refused"))
        channel = KafkaChannel(DeliverySettings(kafka="broker:9092"), lambda: producer)
        with pytest.raises(Undelivered, match="refused"):
            await channel.send(notifications)
        assert producer.running == 0
        producer.failure = None
        await channel.send(notifications)
        with pytest.raises(Undelivered, match="no Kafka"):
            await KafkaChannel(DeliverySettings()).send(notifications)

    run(send())
