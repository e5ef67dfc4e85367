"""Event log on a Kafka topic."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.errors import (
    KafkaError,
    OutOfOrderSequenceNumber,
    ProducerClosed,
    ProducerFenced,
    UnknownTopicOrPartitionError,
)

from tamis.absence import Absence
from tamis.eventlog.base.event_log import (
    RECORDS,
    EventTooLarge,
    IdempotencyConflict,
    Keyed,
    NotAppended,
    Receipt,
    as_strings,
    content_hash,
    key_hash,
    microseconds,
)
from tamis.eventlog.kafka.kafka_address import KafkaAddress
from tamis.eventlog.kafka.kafka_keys import KafkaKeys
from tamis.loop_thread import LoopThread

# Errors of Kafka, as far as they are handled differently.

_FINAL: Final = (OutOfOrderSequenceNumber, ProducerClosed, ProducerFenced)


def ends_producer(error: BaseException) -> bool:
    """True if a producer with this error will never send again; aiokafka has no name for some of the reasons."""
    return isinstance(error, _FINAL) or type(error) is KafkaError


ID, TIME, KEY = "tamis-id", "tamis-time", "tamis-key"

_BATCH_BYTES: Final = 1 << 19
# Default limit of a broker; a record's key, headers and frame count too.
_LARGEST_BYTES: Final = 1 << 20
_OVERHEAD_BYTES: Final = 1 << 12
_WAIT_SECONDS: Final = 60.0  # at the start
_ANSWER_SECONDS: Final = 1.5  # while it serves
_READ_SECONDS: Final = 3.0
_STOP_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.5  # between two looks whether the brokers are back
_READ_MS: Final = 500
_TOPIC_SECONDS: Final = 20.0

_LOG: Final = logging.getLogger("tamis.service")

Answer = TypeVar("Answer")


class _Client(Protocol):
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


class KafkaLog:
    """Kafka topic as an event log. A message is an event: its value the body, its key the event's id.

    The headers have id, time received (µs) and hash of the idempotency key too, for other readers. Whoever else writes
    to the topic gives its messages unique keys, or none: then place and number on the topic are the id.

    The client lives in a loop of its own (`_loop`), so that questions can be asked from anywhere; whatever touches
    `_producer`, `_keys`, `_consumer` or `_under_way` runs there.

    An append goes to one partition, in order. It is not one transaction: if it fails midway, some events may stay.

    Where the brokers do not answer, nothing is given to the client, which would keep it and try for as long as they are
    away: appends and questions are refused at once, and the brokers asked until they answer. An append that the client
    has by then is not taken back, for they may have it: it goes on, and ends when they are back.
    """

    def __init__(self, address: KafkaAddress, *, write: bool = False) -> None:
        self.address = address
        self._servers = address.servers
        self._topic = address.topic
        self._loop = LoopThread("tamis-kafka")
        self._producer: AIOKafkaProducer | None = None
        self._keys: KafkaKeys | None = None
        self._consumer: AIOKafkaConsumer | None = None
        self._starting = asyncio.Lock()
        self._catching_up = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._under_way: dict[bytes, asyncio.Future[None]] = {}
        self._turn = 0
        self._absence = Absence(f"Kafka at {self._servers}", _LOG)
        self._looking: asyncio.Task[None] | None = None
        if write:
            try:
                self._ask(self._started(), _WAIT_SECONDS)
            except BaseException:
                self._loop.close()
                raise

    @property
    def shared(self) -> str:
        """See EventLog."""
        return f"kafka {self._topic}"

    async def append(
        self, ids: pa.Array, bodies: pa.Array, *, key: str | None = None, content: pa.Array | None = None
    ) -> Receipt:
        """See EventLog."""
        ids, bodies = as_strings(ids, "ids"), as_strings(bodies, "bodies")
        if len(ids) != len(bodies):
            raise ValueError(f"{len(ids)} ids for {len(bodies)} bodies")
        if not len(ids) and key is None:
            return Receipt(0, 0)
        self._require_presence()
        work = (
            self._append(ids, bodies)
            if key is None
            else self._append_once(ids, bodies, key, bodies if content is None else content)
        )
        return await asyncio.wrap_future(self._loop.submit(self._watched(work)))

    def recent(self, count: int) -> pa.Table:
        """See EventLog."""
        self._require_presence()
        return self._ask(self._newest(count), _READ_SECONDS)

    def partitions(self) -> list[int]:
        """Numbers of the topic's partitions, as the brokers have them now."""
        return [place.partition for place in self._ask(self._places(), _WAIT_SECONDS)]

    def size(self) -> tuple[int, int]:
        """See EventLog: numbers of messages; their bytes are known to the broker alone."""
        self._require_presence()
        return self._ask(self._count(), _ANSWER_SECONDS), 0

    def sweep(self, before: datetime, processed: int) -> int:
        """See EventLog: nothing, for the topic's own retention removes them."""
        return 0

    async def close(self) -> None:
        """See EventLog."""
        await asyncio.wrap_future(self._loop.submit(self._stop()))
        await asyncio.to_thread(self._loop.close)

    def _ask(self, work: Coroutine[Any, Any, Answer], seconds: float) -> Answer:
        return self._loop.submit(self._within(seconds, work)).result()

    async def _within(self, seconds: float, work: Coroutine[Any, Any, Answer]) -> Answer:
        try:
            async with asyncio.timeout(seconds):
                return await self._or_refused(work)
        except (NotAppended, TimeoutError) as error:
            self._look()
            if isinstance(error, NotAppended):
                raise
            raise NotAppended(f"Kafka at {self._servers} does not answer") from None

    async def _watched(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Outcome of an append; where it is long in coming, checks that the brokers are reachable at all."""
        late = asyncio.get_running_loop().call_later(_ANSWER_SECONDS, self._look)
        try:
            return await self._or_refused(work)
        except NotAppended:
            self._look()
            raise
        finally:
            late.cancel()

    def _require_presence(self) -> None:
        if self._absence.lasts:
            raise NotAppended(f"Kafka at {self._servers} does not answer")

    def _look(self) -> None:
        """Probes the brokers until they answer."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._until_met(), name="tamis-kafka-absence")

    async def _until_met(self) -> None:
        while True:
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    await self._count()
            except (KafkaError, OSError, TimeoutError) as error:
                self._absence.missed(str(error) or "no answer in time")
            else:
                self._absence.met()
                if not self._absence.lasts:
                    return
            await asyncio.sleep(_LOOK_SECONDS)

    async def _or_refused(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        producer = self._producer
        try:
            return await work
        except KafkaError as error:
            if producer is not None and producer is self._producer and ends_producer(error):
                await self._let_go(producer)
            raise NotAppended(f"Kafka at {self._servers}: {error}") from error

    async def _let_go(self, producer: AIOKafkaProducer) -> None:
        """Drops the producer, which would refuse for ever: the next append has a new one."""
        self._producer = None
        with suppress(KafkaError):
            await producer.stop()

    async def _started(self) -> tuple[AIOKafkaProducer, KafkaKeys]:
        async with self._starting:
            if self._producer is None:
                producer = AIOKafkaProducer(
                    **self.address.client(),
                    acks="all",
                    enable_idempotence=True,
                    max_batch_size=_BATCH_BYTES,
                    max_request_size=_LARGEST_BYTES,
                )
                await _start(producer)
                self._producer = producer
            if self._keys is None:
                await self._require_topic(self._producer)
                keys = KafkaKeys(self.address)
                await _start(keys)
                self._keys = keys
            return self._producer, self._keys

    async def _require_topic(self, producer: AIOKafkaProducer) -> None:
        """Has the broker create the topic, if it does so by itself: Spark would not read a missing one."""
        try:
            async with asyncio.timeout(_TOPIC_SECONDS):
                await producer.partitions_for(self._topic)
        except (TimeoutError, UnknownTopicOrPartitionError):
            raise NotAppended(
                f"Kafka at {self._servers} has no topic {self._topic}, and makes none by itself: create it"
            ) from None

    async def _append(self, ids: pa.Array, bodies: pa.Array, key: bytes = b"") -> Receipt:
        # Seen before anything is sent: the events around it would be there, and come again with the next attempt.
        sizes = pc.add(pc.binary_length(bodies), pc.multiply(pc.binary_length(ids), 2))
        if pc.max(sizes).as_py() > _LARGEST_BYTES - _OVERHEAD_BYTES:
            raise EventTooLarge(f"an event is larger than Kafka takes: {_LARGEST_BYTES - _OVERHEAD_BYTES:,} bytes")
        producer, _ = await self._started()
        partitions = sorted(await producer.partitions_for(self._topic))
        self._turn += 1
        partition = partitions[self._turn % len(partitions)]
        now = microseconds()
        same = [(TIME, str(now).encode()), *([(KEY, key)] if key else [])]
        sent = []
        for id, body in zip(ids.to_pylist(), bodies.to_pylist(), strict=True):
            name = id.encode()
            sent.append(
                await producer.send(
                    self._topic,
                    body.encode(),
                    key=name,
                    partition=partition,
                    timestamp_ms=now // 1000,
                    headers=[(ID, name), *same],
                )
            )
        placed = await asyncio.gather(*sent)
        return Receipt(placed[0].offset, len(placed), partition=partition)

    async def _append_once(self, ids: pa.Array, bodies: pa.Array, key: str, given: pa.Array) -> Receipt:
        name, content = key_hash(key), content_hash(given)
        producer, keys = await self._started()
        while name in self._under_way:
            await asyncio.wait([self._under_way[name]])
        done = self._under_way[name] = asyncio.get_running_loop().create_future()
        try:
            async with self._catching_up:
                await keys.catch_up()
            known = keys.find(name, microseconds())
            if known is None and not len(ids):
                return Receipt(0, 0)
            if known is None:
                receipt = await self._append(ids, bodies, name)
                await keys.add(producer, Keyed(name, content, receipt.first, receipt.count, microseconds()))
                return receipt
        finally:
            del self._under_way[name]
            done.set_result(None)
        if known.content != content:
            raise IdempotencyConflict("this idempotency key was used for other events before")
        return Receipt(known.first, known.count, repeated=True)

    async def _reader(self) -> tuple[AIOKafkaConsumer, list[TopicPartition]]:
        if self._consumer is None:
            consumer = AIOKafkaConsumer(self._topic, **self.address.client(), enable_auto_commit=False)
            await _start(consumer)
            self._consumer = consumer
        # Else it would fetch all the time, for nobody, and a question wait behind each fetch that finds nothing.
        self._consumer.pause(*self._consumer.assignment())
        places = [TopicPartition(self._topic, one) for one in self._consumer.partitions_for_topic(self._topic) or ()]
        return self._consumer, places

    async def _places(self) -> list[TopicPartition]:
        async with self._reading:
            return (await self._reader())[1]

    async def _count(self) -> int:
        async with self._reading:
            consumer, places = await self._reader()
            firsts, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
            return sum(ends[place] - firsts[place] for place in places)

    async def _newest(self, count: int) -> pa.Table:
        found: list[ConsumerRecord[bytes, bytes]] = []
        async with self._reading:
            consumer, places = await self._reader()
            firsts, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
            for place in places:
                start = max(firsts[place], ends[place] - count)
                if start == ends[place]:
                    continue
                consumer.resume(place)
                consumer.seek(place, start)
                while await consumer.position(place) < ends[place]:
                    read = await consumer.getmany(place, timeout_ms=_READ_MS)
                    found += (record for record in read.get(place, ()) if record.offset < ends[place])
                consumer.pause(place)
        found.sort(key=lambda record: (record.timestamp, record.partition, record.offset))
        return _table(found[-count:] if count else [])

    async def _stop(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        for client in (self._producer, self._consumer, self._keys):
            # A producer waits until all that it was given is sent.
            with suppress(TimeoutError):
                async with asyncio.timeout(_STOP_SECONDS):
                    if client is not None:
                        await client.stop()


async def _start(client: _Client) -> None:
    """Starts a client, or closes its connections if that fails."""
    try:
        await client.start()
    except BaseException:
        await client.stop()
        raise


def _table(records: list[ConsumerRecord[bytes, bytes]]) -> pa.Table:
    rows = [
        {
            "offset": record.offset,
            "partition": record.partition,
            "id": record.key.decode()
            if record.key is not None
            else f"kafka {record.topic} {record.partition} {record.offset}",
            "time": record.timestamp * 1000,
            "body": (record.value or b"").decode(errors="replace"),
        }
        for record in records
    ]
    return pa.Table.from_pylist(rows, RECORDS)
