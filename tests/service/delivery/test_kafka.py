"""Notifications on topics of Kafka, whose producer may fail for a while or for good."""

from __future__ import annotations

import pytest
from aiokafka.errors import OutOfOrderSequenceNumber

from tamis.service.base.configuration import DeliverySettings
from tamis.service.base.events import Notification
from tamis.service.delivery.channels import KafkaChannel, Undelivered
from tamis.service.store import Store
from tests.service.delivery.made import NOON, run, subscribed


class FakeProducer:
    """A Kafka that keeps what it is sent."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.sent: list[tuple[str, bytes, bytes]] = []
        self.running = 0

    async def start(self) -> None:
        self.running += 1
        if self.failure is not None:
            raise self.failure

    async def stop(self) -> None:
        self.running -= 1

    async def send_and_wait(self, topic: str, value: bytes, key: bytes, headers: object = None) -> None:
        self.sent.append((topic, key, value))


def _on_topic(store: Store) -> Notification:
    subscription = subscribed(store, delivery={"mode": "kafka", "topic": "told"})
    return Notification("ntf_1", subscription, 1, "evt", NOON, "{}", b'{"cursor":"1"}')


def test_a_topic_gets_notifications_under_the_subscriptions_id(store: Store) -> None:
    async def send() -> None:
        producer = FakeProducer()
        channel = KafkaChannel(DeliverySettings(kafka="broker:9092"), lambda: producer)
        notification = _on_topic(store)
        await channel.send(notification)
        await channel.send(notification)
        assert producer.sent == [("told", notification.subscription.id.encode(), notification.body)] * 2
        assert producer.running == 1
        await channel.close()
        assert producer.running == 0

    run(send())


def test_a_topic_that_fails_is_nobody_elses_trouble(store: Store) -> None:
    channel = KafkaChannel(DeliverySettings(kafka="broker:9092"))
    one, other = (subscribed(store, delivery={"mode": "kafka", "topic": topic}) for topic in ("a", "b"))
    assert channel.endpoint(one) != channel.endpoint(other)


def test_a_producer_that_will_never_send_again_is_replaced(store: Store) -> None:
    class Broken(FakeProducer):
        async def send_and_wait(self, topic: str, value: bytes, key: bytes, headers: object = None) -> None:
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
        notification = _on_topic(store)
        producer = FakeProducer(OSError("refused"))
        channel = KafkaChannel(DeliverySettings(kafka="broker:9092"), lambda: producer)
        with pytest.raises(Undelivered, match="refused"):
            await channel.send(notification)
        assert producer.running == 0
        producer.failure = None
        await channel.send(notification)
        with pytest.raises(Undelivered, match="no Kafka"):
            await KafkaChannel(DeliverySettings()).send(notification)

    run(send())
