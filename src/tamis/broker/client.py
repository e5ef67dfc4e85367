"""Client library of a broker (publish, subscribe, advertise, receive), and a broker embedded in a program."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import cache, partial
from types import TracebackType
from typing import Any, Final, Self

import grpc
import pyarrow as pa

from tamis.broker.access import Access, BrokerAway, BrokerRefusal, attached_stream, split_address
from tamis.broker.broker import Broker
from tamis.broker.events import Delivered, unpack, write_events
from tamis.broker.messages import (
    Ask,
    Attach,
    Attached,
    Delivery,
    Leave,
    Message,
    Offer,
    Received,
    Refused,
    Settled,
    Taken,
    Told,
    decode,
    encode,
)
from tamis.broker.process import BrokerProcess
from tamis.loop_thread import LoopThread

Speak = Callable[[Iterator[bytes]], Iterator[bytes]]
"""Messages to the broker in, its messages out, as long as there is a connection."""

_FIRST_DELAY: Final = 0.1
_LONGEST_DELAY: Final = 5.0


class BrokerClient:
    """Client of one broker, under a name under which the broker keeps its subscriptions and undelivered events.

    It connects again by itself when the connection or the broker is gone, and says again what it got no answer to;
    the broker knows what it has heard before. Each event comes once: what was handed out by `deliveries` is
    acknowledged when the next is asked for, or the client is closed without an error. Any thread may call it; one
    takes deliveries. `timeout` is how long an answer is waited for; None: for ever.
    """

    def __init__(
        self,
        address: str | Speak,
        name: str,
        access: Access | None = None,
        *,
        echo: bool = True,
        timeout: float | None = 30.0,
    ) -> None:
        self.address = address if isinstance(address, str) else "this process"
        if isinstance(address, str):
            split_address(address)  # complains now, not after waiting for an answer
        self._open = partial(attached_stream, address, access or Access()) if isinstance(address, str) else address
        self.name = name
        self._echo = echo
        self._timeout = timeout
        self._changed = threading.Condition()
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unanswered: dict[tuple[str, int], Message] = {}
        self._answers: dict[tuple[str, int], Message] = {}
        self._settled: set[int] = set()
        self._deliveries: queue.SimpleQueue[Delivery | None] = queue.SimpleQueue()
        self._attached: Attached | None = None
        self._epoch: str | None = None
        self._sent: set[tuple[str, int]] = set()  # of what is unanswered
        self._resent: set[tuple[str, int]] = set()  # said again, so that it may have been done before
        self._heard = 0  # the last position that came
        self._handed = 0  # the last position that was handed out
        self._taken = 0  # the last position that was acknowledged
        self._asked = 0
        self._offered: int | None = None
        self._refusal: str | None = None
        self._failure = ""  # why there is no connection, as gRPC has it
        self._closed = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_connected, name=f"tamis-client-{name}", daemon=True)
        self._thread.start()

    # Requests.

    def advertise(self, filters: Mapping[str, str], *, settle: bool = False) -> None:
        """Adds advertisements, under ids of the client's own."""
        self._ask(settle, advertise=dict(filters))

    def unadvertise(self, ids: Iterable[str], *, settle: bool = False) -> None:
        self._ask(settle, unadvertise=tuple(ids))

    def subscribe(self, filters: Mapping[str, str], *, settle: bool = False) -> None:
        """Adds subscriptions, under ids of the client's own. With `settle` it returns when every broker concerned
        knows."""
        self._ask(settle, subscribe=dict(filters))

    def unsubscribe(self, ids: Iterable[str], *, settle: bool = False) -> None:
        self._ask(settle, unsubscribe=tuple(ids))

    def publish(
        self, events: pa.Table | pa.RecordBatch | Sequence[Mapping[str, object]], *, number: int | None = None
    ) -> int:
        """Publishes events; returns how many, when they are safe with the broker.

        `number` is the publish's own, higher than all before: the same one again publishes nothing again, in whatever
        process. Without it there is one for each call.
        Waits while the broker's queues are full. BrokerRefusal names rows that were not taken; the others were.
        """
        batch = _batch(events)
        self.attached()
        with self._changed:
            assert self._offered is not None
            self._offered = self._offered + 1 if number is None else number
            offer = Offer(self._offered, write_events(batch))
        answer = self._said(("publish", offer.number), offer)
        assert isinstance(answer, Taken)
        if answer.refused:
            first = next(iter(answer.refused.items()))
            raise BrokerRefusal(
                f"{len(answer.refused)} events were refused; row {first[0]}: {first[1]}", answer.refused
            )
        return batch.num_rows if answer.repeated else answer.accepted

    def deliveries(self, timeout: float | None = None) -> Iterator[Delivered]:
        """Delivered events as they come; ends after `idle` seconds without any, or when the client is closed."""
        while True:
            self._acknowledge()
            try:
                delivery = self._deliveries.get(timeout=timeout)
            except queue.Empty:
                return
            if delivery is None:
                if self._refusal is not None:
                    raise BrokerRefusal(self._refusal)
                return
            carried = unpack(delivery.events)
            assert carried.matched is not None
            self._handed = delivery.position
            yield Delivered(
                carried.events, carried.matched, delivery.origin, delivery.epoch, delivery.number, carried.rows
            )

    def _acknowledge(self) -> None:
        """Acknowledges the deliveries handed out."""
        with self._changed:
            if self._handed > self._taken:
                self._taken = self._handed
                self._outgoing.put(encode(Received(self._taken)))

    def attached(self) -> Attached:
        """Greeting of the broker when the client was attached: the broker's name, and the client's state there."""
        with self._changed:
            self._wait(lambda: self._attached is not None)
            assert self._attached is not None
            return self._attached

    def leave(self) -> None:
        """Withdraws all advertisements and subscriptions, discards undelivered events, and closes."""
        self.attached()
        self._outgoing.put(encode(Leave()))
        self._ended.wait(self._timeout)
        self.close()

    def close(self, *, done: bool = True) -> None:
        """Closes the client; undelivered events are kept for the next client of this name.

        What was handed out last is taken for done; if it is not `done`, it comes again.
        """
        if done:
            self._acknowledge()
        self._end()

    def _end(self) -> None:
        self._ended.set()
        with self._changed:
            connected = self._attached is not None
            self._closed = True
            self._outgoing.put(None)
            self._changed.notify_all()
        self._deliveries.put(None)
        if connected:  # else gRPC may go on trying for as long again, and there is nobody to part from
            self._thread.join(self._timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._end()  # what was handed out last comes again

    # Protocol: requests out, answers and deliveries in.

    def _ask(self, settle: bool, **wishes: Any) -> None:
        with self._changed:
            self._asked += 1
            ask = Ask(self._asked, **wishes)
        answer = self._said(("ask", ask.number), ask)
        assert isinstance(answer, Told)
        refused = answer.refused
        if ("ask", ask.number) in self._resent:
            self._resent.discard(("ask", ask.number))
            withdrawn = {*ask.unadvertise, *ask.unsubscribe}
            refused = {id: reason for id, reason in refused.items() if id not in withdrawn}
        if refused:
            shown = "; ".join(f"{id}: {reason}" for id, reason in list(refused.items())[:5])
            raise BrokerRefusal(shown, refused)
        if settle:
            with self._changed:
                self._wait(lambda: ask.number in self._settled)

    def _said(self, key: tuple[str, int], message: Message) -> Message:
        with self._changed:
            self._unanswered[key] = message
            if self._attached is not None:
                self._sent.add(key)
                self._outgoing.put(encode(message))
            self._wait(lambda: key in self._answers)
            return self._answers.pop(key)

    def _wait(self, until: Any) -> None:
        over = self._changed.wait_for(lambda: until() or self._refusal is not None or self._closed, self._timeout)
        if self._refusal is not None:
            raise BrokerRefusal(self._refusal)
        if self._closed:
            raise BrokerAway("the client was closed")
        if not over:
            why = f" ({self._failure})" if self._failure else ""
            raise BrokerAway(
                f"the broker at {self.address} did not answer in {self._timeout:g} seconds; is it running?{why}"
            )

    def _hear(self, message: Message) -> None:
        with self._changed:
            match message:
                case Attached():
                    if self._epoch != message.epoch:
                        self._heard = self._handed = self._taken = 0  # another state, another count
                    self._attached, self._epoch = message, message.epoch
                    self._resent |= self._sent
                    self._offered = max(self._offered or 0, message.published)
                    for key, each in self._unanswered.items():
                        self._sent.add(key)
                        self._outgoing.put(encode(each))
                case Told():
                    self._answer(("ask", message.number), message)
                case Taken():
                    self._answer(("publish", message.number), message)
                case Settled():
                    self._settled.add(message.number)
                case Delivery() if message.position > self._heard:
                    self._heard = message.position
                    self._deliveries.put(message)
                case Delivery() if message.position <= self._taken:
                    self._outgoing.put(encode(Received(self._taken)))
                case Refused():
                    self._refusal = message.reason
                case _:
                    pass
            self._changed.notify_all()

    def _answer(self, key: tuple[str, int], message: Message) -> None:
        if self._unanswered.pop(key, None) is not None:
            self._answers[key] = message
            self._sent.discard(key)

    def _keep_connected(self) -> None:
        delay = _FIRST_DELAY
        while not self._ended.is_set():
            try:
                self._speak()
                delay = _FIRST_DELAY
            except grpc.RpcError as error:
                self._failure = str(error.details())
                if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                    self._refuse(self._failure)
                if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                    self._refuse(f"what answers at {self.address} is no broker ({self._failure})")
            if self._refusal is not None:
                break
            self._ended.wait(delay)
            delay = min(2 * delay, _LONGEST_DELAY)
        self._deliveries.put(None)
        self._ended.set()

    def _refuse(self, reason: str) -> None:
        with self._changed:
            self._refusal = reason
            self._changed.notify_all()

    def _speak(self) -> None:
        """Runs one connection, from the first message to the last."""
        outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        outgoing.put(encode(Attach(self.name, self._echo)))
        with self._changed:
            self._outgoing = outgoing
        try:
            for data in self._open(iter(outgoing.get, None)):
                self._hear(decode(data))
        finally:
            with self._changed:
                self._attached = None
            outgoing.put(None)


def _batch(events: pa.Table | pa.RecordBatch | Sequence[Mapping[str, object]]) -> pa.RecordBatch:
    """Events as one Arrow batch; the broker checks them against its schema."""
    if isinstance(events, pa.RecordBatch):
        return events
    if isinstance(events, pa.Table):
        table = events
    else:
        # Not all events have all attributes, and Arrow would take those of the first for all.
        names = dict.fromkeys(name for event in events for name in event)
        table = pa.table({name: [event.get(name) for event in events] for name in names})
    return table.combine_chunks().to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], table.schema)


# Embedded broker: a broker on threads of the program that starts it.

_logger: Final = logging.getLogger("tamis.broker")
_PATIENCE: Final = 60.0


@cache
def _loop() -> LoopThread:
    """Event loop that all brokers of a process share, since gRPC has one a process."""
    return LoopThread("tamis-brokers")


class BrokerThread:
    """Broker that runs beside the rest of a program, from `start` to `stop`."""

    def __init__(
        self,
        broker: Broker,
        listen: str | None = "127.0.0.1:0",
        links: Sequence[str] = (),
        access: Access | None = None,
        client_access: Access | None = None,
    ) -> None:
        self._given = (broker, listen, links, access, client_access)
        self._process: BrokerProcess | None = None
        self._ready = threading.Event()
        self._running: Future[None] | None = None
        self.failure: BaseException | None = None

    def start(self) -> str | None:
        """Starts the broker; returns the address that it listens at when it works."""
        self._running = _loop().submit(self._run())
        self._ready.wait()
        if self.failure is not None:
            raise self.failure
        return self.process.address

    def stop(self) -> None:
        """Stops the broker; its state is on disk."""
        if self._running is not None and not self._running.done():
            self.process.stop_soon()
            self._running.result(_PATIENCE)

    @property
    def process(self) -> BrokerProcess:
        assert self._process is not None
        return self._process

    @property
    def address(self) -> str:
        assert self.process.address is not None
        return self.process.address

    def status(self) -> dict[str, Any]:
        """Status of the broker."""
        return self.process.status()

    def speak(self, outgoing: Iterator[bytes]) -> Iterator[bytes]:
        """Channel that a BrokerClient of this program takes in place of an address."""
        return self.process.speak(outgoing)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def _run(self) -> None:
        try:
            self._process = BrokerProcess(*self._given)
            await self._process.run(lambda address: self._ready.set())
        except Exception as error:
            if self._ready.is_set():
                _logger.exception("a broker has ended")
            self.failure = error
        finally:
            self._ready.set()
