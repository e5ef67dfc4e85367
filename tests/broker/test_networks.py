"""Generated networks: clients get exactly what the oracle says, once, whatever happens to links and brokers."""

from __future__ import annotations

import pytest

from tamis.broker.broker import BrokerSettings
from tamis.routing.tables import POLICIES
from tests.broker.histories import history, rebuilt


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("seed", "brokers", "extra_links"), [(1, 5, 0), (2, 7, 2), (3, 6, 0), (4, 5, 4)])
def test_every_client_gets_the_oracles_events_once(policy: str, seed: int, brokers: int, extra_links: int) -> None:
    made = history(seed, brokers, extra_links, BrokerSettings(policy=policy))
    made.happen(120)
    made.settle()
    assert made.check() > 20
    assert made.network.tables() == rebuilt(made).tables()


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(10, 22))
def test_large_networks_too(policy: str, seed: int) -> None:
    made = history(seed, 8 + 2 * (seed % 12), seed % 4 * 2, BrokerSettings(policy=policy))
    made.happen(600)
    made.settle()
    assert made.check() > 100
    assert made.network.tables() == rebuilt(made).tables()
