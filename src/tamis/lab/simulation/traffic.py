"""What a simulated network had to do."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tamis.lab.networks.regions import Integers


@dataclass(frozen=True)
class Traffic:
    """Sums over so many events. Bytes and hops are between nodes of the overlay.

    `injected` are the messages that the server made, `injected_bytes` theirs. `link_bytes` counts a byte once for every
    link of the topology that it goes over. `stress` are the bytes that each node sent, `server` those of the server's.
    `from_server` are the messages that left the server's node. `delivered` are messages to subscriptions, `latency` the
    hops that these took in all; `last_hop` the bytes from nodes to subscribers. `idle` are nodes that a message came to
    and that had no use for it. `asks` are payloads that a CN* node had to ask for.
    """

    events: int
    injected: int
    injected_bytes: int
    bytes: int
    hops: int
    link_bytes: int
    stress: Integers
    server: int
    from_server: int
    delivered: int
    latency: int
    last_hop: int
    idle: int
    asks: int

    def since(self, before: Traffic) -> Traffic:
        """What came after an earlier account, over this one's events."""
        changed = {
            field.name: getattr(self, field.name) - getattr(before, field.name)
            for field in fields(self)
            if field.name != "events"
        }
        return Traffic(events=self.events, **changed)

    def an_event(self, number: float) -> float:
        return number / max(1, self.events)

    @property
    def hop_latency(self) -> float:
        """Hops that a message took to a subscription, on average."""
        return self.latency / max(1, self.delivered)

    @property
    def fan_out(self) -> float:
        """Neighbours to which the server's node sent a message, on average."""
        return self.from_server / max(1, self.injected)

    @property
    def row(self) -> dict[str, float]:
        """By event, for tables of results."""
        per = {
            name: self.an_event(getattr(self, name))
            for name in ("injected", "injected_bytes", "bytes", "hops", "link_bytes", "server", "delivered", "last_hop")
        }
        per |= {"idle": self.an_event(self.idle), "asks": self.an_event(self.asks)}
        per |= {"most_stressed": self.an_event(float(self.stress.max(initial=0)))}
        per |= {"mean_stress": self.an_event(float(self.stress.mean())) if len(self.stress) else 0.0}
        return per | {"hop_latency": self.hop_latency, "fan_out": self.fan_out, "events": float(self.events)}
