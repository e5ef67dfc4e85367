"""A Kafka topic as the service's event log: against a real broker where one can be had."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("aiokafka", reason="the service extra is not installed")

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from scripts.kafka_broker import Broker, BrokerUnavailableError
from tamis.eventlog import EventTooLarge, NotAppended, open_log
from tests.eventlog.event_log_contract import EventLogContract, Open, bodies, ids
from tests.pipeline.test_kafka import connector

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[3]

__all__ = ["connector"]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    pytest.importorskip("pyspark", reason="the broker's jars come by way of the Spark extra")
    try:
        with Broker() as broker:
            yield broker.servers
    except BrokerUnavailableError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def made(servers: str, partitions: int) -> str:
    """A new topic."""
    topic = f"events-{uuid.uuid4().hex}"
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    await admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])
    await admin.close()
    return topic


@pytest.fixture
def topic(servers: str) -> str:
    return asyncio.run(made(servers, partitions=1))


@pytest.fixture
def open_again(servers: str, topic: str) -> Open:
    return lambda: open_log(f"kafka://{servers}/{topic}", write=True)


def spark_reads(url: str, connector: str) -> Any:
    """What Spark finds in a log, in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.eventlog.kafka.kafka_frame", url, connector],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


class TestKafkaLog(EventLogContract):
    pass


async def test_messages_have_id_time_and_key_for_other_readers(servers: str, topic: str, open_again: Open) -> None:
    log = open_again()
    before = datetime.now(UTC)
    await log.append(ids(7), bodies(7), key="k")
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest")
    await consumer.start()
    message = await consumer.getone()
    await consumer.stop()
    await log.close()
    headers = dict(message.headers)
    assert (message.key, message.value) == (b"evt_7", bodies(7)[0].as_py().encode())
    assert headers["tamis-id"] == b"evt_7"
    assert len(headers["tamis-key"]) == 16
    received = datetime.fromtimestamp(int(headers["tamis-time"]) / 1e6, UTC)
    assert before <= received <= before + timedelta(minutes=1)


async def test_messages_of_others_are_named_by_their_place(servers: str, topic: str, open_again: Open) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=servers)
    await producer.start()
    await producer.send_and_wait(topic, b'{"n":1}')
    await producer.stop()
    log = open_again()
    table = await asyncio.to_thread(log.recent, 5)
    assert table["id"].to_pylist() == [f"kafka {topic} 0 0"]
    await log.close()


async def test_two_services_on_one_topic_know_each_others_keys(open_again: Open) -> None:
    one, other = open_again(), open_again()
    first = await one.append(ids(0), bodies(0), key="k")
    again = await other.append(ids(0), bodies(0), key="k")
    assert (again.first, again.repeated) == (first.first, True)
    await one.close()
    await other.close()


async def test_each_append_goes_to_one_of_several_partitions_in_order(servers: str) -> None:
    log = open_log(f"kafka://{servers}/{await made(servers, partitions=3)}", write=True)
    for start in range(0, 60, 10):
        some = range(start, start + 10)
        await log.append(ids(*some), bodies(*some))
    table = await asyncio.to_thread(log.recent, 100)
    assert (await asyncio.to_thread(log.size))[0] == table.num_rows == 60
    assert set(table["partition"].to_pylist()) == {0, 1, 2}
    place = {row["id"]: (row["partition"], row["offset"]) for row in table.to_pylist()}
    for start in range(0, 60, 10):
        partition, first = place[f"evt_{start}"]
        assert [place[f"evt_{start + step}"] for step in range(10)] == [(partition, first + step) for step in range(10)]
    await log.close()


async def test_a_broker_that_is_not_there_is_told_of_in_one_line() -> None:
    with pytest.raises(NotAppended, match=r"Kafka at 127.0.0.1:9: "):
        open_log("kafka://127.0.0.1:9/topic", write=True)


async def test_a_topic_is_there_as_soon_as_the_log_is_open(servers: str) -> None:
    topic = f"events-{uuid.uuid4().hex}"
    log = open_log(f"kafka://{servers}/{topic}", write=True)
    assert await asyncio.to_thread(log.size) == (0, 0)
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    assert {topic, f"{topic}.keys"} <= set(await admin.list_topics())
    await admin.close()
    await log.close()


async def test_an_event_that_kafka_would_not_take_leaves_nothing_of_its_append_behind(open_again: Open) -> None:
    log = open_again()
    large = pa.array(['{"n":1}', '{"text":"' + "x" * (1 << 20) + '"}'])
    with pytest.raises(EventTooLarge, match="larger than Kafka takes"):
        await log.append(pa.array(["evt_1", "evt_2"]), large)
    assert await asyncio.to_thread(log.size) == (0, 0)
    almost = pa.array(['{"text":"' + "x" * ((1 << 20) - 5000) + '"}'])
    await log.append(pa.array(["evt_3"]), almost)
    await log.close()


async def test_what_others_write_among_the_keys_keeps_nobody_from_publishing(
    servers: str, topic: str, open_again: Open
) -> None:
    log = open_again()
    producer = AIOKafkaProducer(bootstrap_servers=servers)
    await producer.start()
    for value in (b"no key", None):
        await producer.send_and_wait(f"{topic}.keys", value, key=b"k")
    await producer.stop()
    await log.append(ids(0), bodies(0), key="k")
    assert (await log.append(ids(0), bodies(0), key="k")).repeated
    await log.close()


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """A broker that asks who is there."""
    pytest.importorskip("pyspark", reason="the broker's jars come by way of the Spark extra")
    try:
        with Broker(password="let me in") as broker:
            yield broker.servers
    except BrokerUnavailableError as missing:
        pytest.skip(str(missing))


@pytest.mark.spark
async def test_a_broker_that_asks_for_a_password_is_told_it_by_the_log_and_by_spark(
    guarded: str, connector: str
) -> None:
    with pytest.raises(NotAppended, match=f"Kafka at {guarded}: ") as refused:
        open_log(f"kafka://tamis:wrong@{guarded}/events", write=True)
    assert "wrong" not in str(refused.value)
    url = f"kafka://tamis:let%20me%20in@{guarded}/events"
    log = open_log(url, write=True)
    await log.append(ids(*range(30)), bodies(*range(30)), key="k")
    assert (await log.append(ids(*range(30)), bodies(*range(30)), key="k")).repeated
    assert (await asyncio.to_thread(log.recent, 100)).num_rows == 30
    await log.close()
    told = spark_reads(url, connector)
    assert [row[0] for row in told["stream"]] == list(range(30))
    assert told["from where a batch ended"] == told["stream"][20:]


@pytest.mark.spark
async def test_spark_reads_the_same_columns_as_from_a_spool(
    servers: str, topic: str, open_again: Open, connector: str
) -> None:
    log = open_again()
    await log.append(ids(*range(30)), bodies(*range(30)))
    recent = await asyncio.to_thread(log.recent, 30)
    await log.close()
    told = spark_reads(f"kafka://{servers}/{topic}", connector)
    assert told["columns"] == [
        ["offset", "bigint"], ["partition", "int"], ["id", "string"], ["time", "timestamp"], ["body", "string"]
    ]  # fmt: skip
    rows = [[row["offset"], row["partition"], row["id"], row["body"]] for row in recent.to_pylist()]
    assert told["batch"] == rows
    assert told["stream"] == rows
    assert told["from 25"] == rows[25:]
    assert told["from where a batch ended"] == rows[20:]
    assert told["times"] == sorted({int(row["time"].timestamp() * 1000) for row in recent.to_pylist()})


async def test_brokers_that_are_away_keep_nobody_waiting_and_what_they_were_given_is_there_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Questions and appends end soon while the brokers are away, and are good afterwards."""
    try:
        with Broker() as broker:
            log = open_log(f"kafka://{broker.servers}/{await made(broker.servers, partitions=2)}", write=True)
            await log.append(ids(0), bodies(0), key="before")
            await asyncio.to_thread(broker.kill)
            given = asyncio.create_task(log.append(ids(1), bodies(1), key="during"))
            await asyncio.sleep(0)
            for ask in (log.size, lambda: log.recent(5)) * 10:
                began = time.monotonic()
                with pytest.raises(NotAppended, match="Kafka at"):
                    await asyncio.to_thread(ask)
                assert time.monotonic() - began < 4
            began = time.monotonic()
            with pytest.raises(NotAppended, match="does not answer"):
                await log.append(ids(2), bodies(2), key="refused")
            assert time.monotonic() - began < 1
            await asyncio.to_thread(broker.start)
            async with asyncio.timeout(60):
                while True:
                    try:
                        assert (await given if not given.done() else given.result()).count == 1
                        again = await log.append(ids(1), bodies(1), key="during")
                        break
                    except NotAppended:
                        given = asyncio.create_task(log.append(ids(1), bodies(1), key="during"))
                        await asyncio.wait({given}, timeout=0.2)
            assert again.repeated
            assert sorted((await asyncio.to_thread(log.recent, 10))["id"].to_pylist()) == ["evt_0", "evt_1"]
            await log.close()
    except BrokerUnavailableError as missing:
        pytest.skip(str(missing))
    told = [record.getMessage() for record in caplog.records if record.name.startswith("tamis")]
    assert len(told) == 2, told
    assert "does not answer" in told[0]
    assert "answers again after" in told[1]


async def test_questions_to_a_quiet_topic_do_not_wait_for_events(open_again: Open) -> None:
    log = open_again()
    await log.append(ids(0), bodies(0), key="k")
    await asyncio.to_thread(log.size)
    began = time.monotonic()
    for _ in range(10):
        await asyncio.to_thread(log.size)
        await log.append(ids(0), bodies(0), key="k")
    assert time.monotonic() - began < 4, "each fetch that finds nothing takes half a second"
    await log.close()
