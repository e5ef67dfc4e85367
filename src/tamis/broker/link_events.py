"""Events between neighbours: those that come over a link are sent on, those that wait for it are handed over."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from tamis.broker.carrying import unpack
from tamis.broker.link import Link, neighbour
from tamis.broker.link_payloads import Answers, Whole
from tamis.broker.messages import Batch, Received
from tamis.broker.traffic import Travelling

if TYPE_CHECKING:
    from tamis.broker.broker import Broker


class LinkEvents:
    """The events of all links. `received`: by hop, the neighbour's epoch and up to which position they are safe here.

    A message counts as received when all of its values are there and its events wait for wherever they go.
    """

    def __init__(self, broker: Broker, links: Mapping[str, Link]) -> None:
        self._broker = broker
        self._links = links
        self.received = broker.store.received()

    def take(self, link: Link, batch: Batch, size: int) -> None:
        """Events came over a link, in a message of so many bytes."""
        broker = self._broker
        waiting = broker.traffic.parked.get(link.hop)
        if batch.position <= link.received and not waiting:
            self._receipt(link, link.received)
            return
        carriage = broker.traffic.carried_by(link.hop)
        carriage.events_in, carriage.bytes_in = carriage.events_in + batch.count, carriage.bytes_in + size
        self.follow(broker.payloads.arrived(link.hop, batch, size))

    def follow(self, answers: Answers) -> None:
        """Does what follows from values that came, or are lacking."""
        for hop, message in answers.messages:
            connection = self._links[neighbour(hop)].connection
            if connection is not None:
                self._broker.send(connection, message)
        for whole in answers.whole:
            self._send_on(self._links[neighbour(whole.link)], whole)

    def _send_on(self, link: Link, whole: Whole) -> None:
        broker, batch = self._broker, whole.batch

        def done() -> None:
            link.received = batch.position
            self.received[link.hop] = (link.epoch, batch.position)
            broker.store.put_received(link.hop, link.epoch, batch.position)
            self._receipt(link, batch.position)

        carried = unpack(batch.events[: batch.slim] if batch.payloads else batch.events, whole.contents)
        broker.traffic.take(Travelling(link.hop, batch.origin, batch.epoch, batch.number, carried, done))

    def _receipt(self, link: Link, position: int) -> None:
        if link.connection is not None:
            self._broker.send(link.connection, Received(position))

    def pump(self, hop: str) -> None:
        """Sends what waits for a neighbour, if its link is open."""
        link = self._links[neighbour(hop)]
        if link.open and link.connection is not None:
            as_it_goes = partial(self._broker.payloads.outgoing, hop)
            self._broker.traffic.send_from(hop, link.connection, self._broker.send_encoded, as_it_goes)

    def let_go(self, link: Link) -> None:
        """Lets batches that could not go on yet come again."""
        self._broker.payloads.end(link.hop)
        self._broker.traffic.forget(link.hop)
