"""Generated networks: clients get exactly what the oracle says, once, whatever happens to links and brokers."""

from __future__ import annotations

import pytest

import tamis
from tamis.broker.broker import BrokerSettings
from tamis.routing.merging import MergePolicy
from tamis.routing.tables import POLICIES
from tamis.testing.faults import BrokerNetwork
from tests.broker.histories import SCHEMA, History, history, rebuilt


def _settings(policy: str) -> BrokerSettings:
    return BrokerSettings(policy=policy, merging=MergePolicy(every=3), payload_bytes=50, repository=2)


def _check(made: History, policy: str) -> None:
    tables = made.network.tables()
    for name, hops in tables.items():
        for hop, (ads_in, subs_in, _, _) in hops.items():
            _, _, ads_out, subs_out = tables[hop.removeprefix("link:")][f"link:{name}"]
            assert (ads_in, subs_in) == (ads_out, subs_out)
    if policy == "merging":
        # Which filters are merged depends on when that was tried. They let through whatever somebody asked for.
        needed = _meant(made, rebuilt(made, _settings("simple")))
        meant = _meant(made, made.network)
        assert needed.keys() == meant.keys()
        assert all(not (need and not got) for key in needed for need, got in zip(needed[key], meant[key], strict=True))
    else:
        assert tables == rebuilt(made).tables()


def _meant(made: History, network: BrokerNetwork) -> dict[tuple[str, str], list[bool]]:
    """Which of all events that were ever published would go over each link, in each direction."""
    events = [each.event for each in made.published]
    meant = {}
    for name, hops in network.tables().items():
        for hop, (_, _, _, forwarded) in hops.items():
            index = tamis.compile({str(place): text for place, text in enumerate(forwarded)}, SCHEMA)
            meant[name, hop] = [bool(count) for count in index.match(events).counts]
    return meant


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("seed", "brokers", "extra_links"), [(1, 5, 0), (2, 7, 2), (4, 5, 4)])
def test_every_client_gets_the_oracles_events_once(policy: str, seed: int, brokers: int, extra_links: int) -> None:
    made = history(seed, brokers, extra_links, _settings(policy))
    made.happen(120)
    made.settle()
    assert made.check() > 20
    _check(made, policy)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(10, 22))
def test_large_networks_too(policy: str, seed: int) -> None:
    made = history(seed, 8 + 2 * (seed % 12), seed % 4 * 2, _settings(policy))
    made.happen(600)
    made.settle()
    assert made.check() > 100
    _check(made, policy)
