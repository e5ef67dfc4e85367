"""Status of a broker, in numbers: for its console and its metrics."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tamis.broker.broker import Broker
from tamis.broker.traffic import CLIENT


def status_of(broker: Broker) -> dict[str, Any]:
    """The broker, its links and its clients. Names of clients are in it, and no filters and no events."""
    filters, traffic, topology = broker.filters, broker.traffic, broker.links.topology
    links = []
    for name, link in sorted(broker.links.links.items()):
        in_use = topology.is_in_use(broker.name, name)
        links.append(
            {
                "name": name,
                "address": link.address,
                "state": "open" if link.open else "connected" if link.connection is not None else "down",
                "in_use": in_use,
                "advertisements_in": len(filters.advertisements.rows(link.hop)),
                "subscriptions_in": len(filters.subscriptions.rows(link.hop)),
                "advertisements_out": len(filters.advertisements.forwarded(link.hop)) if in_use else 0,
                "subscriptions_out": len(filters.subscriptions.forwarded(link.hop)) if in_use else 0,
                "unsettled": broker.settling.over(link.hop),
                "sessions": link.sessions,
                "resets": link.resets,
                **asdict(traffic.carried_by(link.hop)),
                **_queue(broker, link.hop),
            }
        )
    clients = [
        {
            "name": name,
            "attached": client.connection is not None,
            "advertisements": len(filters.of_client(client.hop, "advertisement")),
            "subscriptions": len(filters.of_client(client.hop, "subscription")),
            **asdict(traffic.carried_by(client.hop)),
            **_queue(broker, client.hop),
        }
        for name, client in sorted(broker.clients.clients.items())
    ]
    return {
        "name": broker.name,
        "policy": broker.settings.policy,
        "brokers": len({end for record in topology.records.values() if record.standing for end in record.ends} or {""}),
        "links": links,
        "clients": clients,
        "blocked": sorted(hop.removeprefix(CLIENT) for hop in traffic.parked if hop.startswith(CLIENT)),
        "dead_letters": broker.store.dropped(),
    }


def _queue(broker: Broker, hop: str) -> dict[str, Any]:
    outbox = broker.traffic.outbox(hop)
    return {"queue_events": outbox.events, "queue_bytes": outbox.bytes, "queue_full": outbox.is_full}
