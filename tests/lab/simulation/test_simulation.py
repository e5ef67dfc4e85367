"""Every scheme over both networks: whom messages reach, and what they cost, against plain Python on small networks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.errors import TamisError
from tamis.joins.index.messages import accepts
from tamis.joins.schemes.scheme import SCHEMES
from tamis.lab.simulation.joins import simulate
from tamis.lab.simulation.simulation import NETWORKS, Overlay, Simulation, Star, overlay_of
from tamis.lab.simulation.spaces import Spaces, post_of
from tamis.workloads.select_joins import select_joins
from tests.generated import cases
from tests.joins.histories import History, drawn_ranges
from tests.joins.reference import World
from tests.joins.test_schemes import BINARY, CHAIN
from tests.lab.simulation.by_hand import ByHand

SHAPES = {"binary": BINARY, "chain": CHAIN}
PAYLOAD = 50


def small_overlay(rng: np.random.Generator, nodes: int) -> Overlay:
    return overlay_of(nodes, 60, int(rng.integers(3)), 3)


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=cases(12), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from(sorted(SHAPES)),
    network=st.sampled_from(NETWORKS),
    leaves=st.sampled_from([None, 1, 4]),
    star=st.sampled_from([None, (0, 0), (1, 2), (3, 2), (50, 0), (50, 50)]),
    mixed=st.booleans(),
)
def test_accounts_are_those_made_by_hand(
    scheme: str, seed: int, shape: str, network: str, leaves: int | None, star: tuple[int, int] | None, mixed: bool
) -> None:
    rng = np.random.default_rng(seed)
    form, signatures = SHAPES[shape]
    overlay = small_overlay(rng, 12)
    running = SCHEMES[scheme](form)
    ranges = drawn_ranges(rng, form, signatures, 25, 8)
    running.subscribe(ranges)
    history = History(rng, running, World(form), 8, 2)
    plain = (rng.random(12) < 0.4) & mixed
    simulation = Simulation(
        form, ranges, overlay, network, payload=PAYLOAD, counting=True, leaves=leaves,
        star=None if star is None else Star(*star, plain),
    )  # fmt: skip
    spaces, by_hand = Spaces(form, ranges), {}
    wanted = unicast = 0
    for _ in range(3):
        changes = history.changes(6)
        simulation.payloads.follow(changes)
        messages = running.change(changes)
        simulation.carry(messages)
        numbers = spaces.of(messages)
        for m in range(len(messages)):
            number, one = int(numbers[m]), np.array([m])
            wanted += int(accepts(messages, m, ranges, form).sum())
            if messages.subscription[m] >= 0:
                unicast += int(messages.sizes(form, PAYLOAD)[m])
                continue
            post = post_of(messages, one, form, spaces.spaces[number], simulation.payloads, PAYLOAD)
            if number not in by_hand:
                there = simulation._networks[number]
                by_hand[number] = ByHand(there.network, there.hops, star, there.plain)
            by_hand[number].carry(post)
        history.forget()
    traffic = simulation.traffic(9)
    assert traffic.delivered == wanted
    if scheme.startswith("enum"):
        assert (traffic.bytes, traffic.server, traffic.hops) == (unicast, unicast, traffic.injected)
        return
    stress = np.zeros(12, np.int64)
    for number, books in by_hand.items():
        for node, size in books.stress.items():
            stress[simulation._networks[number].dealt[node]] += size
    every = list(by_hand.values())
    assert traffic.bytes == sum(books.bytes for books in every)
    assert traffic.stress.tolist() == stress.tolist()
    assert traffic.link_bytes == sum(books.link_bytes for books in every)
    assert traffic.last_hop == sum(books.last_hop for books in every)
    assert traffic.asks == sum(books.asks for books in every)
    assert traffic.hops == sum(books.sent for books in every)
    if star is None or star[0] == 0:
        assert traffic.latency == sum(books.latency for books in every)
    else:
        assert traffic.latency >= sum(books.latency for books in every)


@pytest.mark.parametrize("network", NETWORKS)
def test_repositories_save_bytes_and_change_no_delivery(network: str) -> None:
    overlay = overlay_of(40, 200, 1)
    workload = select_joins(2_000, 120, 1, r_rows=50, s_rows=200)
    plain, kept = (
        simulate("ref-j", workload, overlay, network=network, warm_up=60, payload=1_000, star=star, counting=True)
        for star in (None, Star(repository=1_000))
    )
    assert plain.delivered == kept.delivered > 0
    assert kept.bytes < 0.8 * plain.bytes
    assert kept.asks == 0
    assert kept.hop_latency == plain.hop_latency


def test_asking_takes_a_message_there_and_back() -> None:
    """Nodes without repositories ask the server each time that a link names what it has carried."""
    overlay = overlay_of(10, 100, 1)
    workload = select_joins(500, 200, 1, r_rows=20, s_rows=100)
    plain, asking = (
        simulate("ref-sj-clu+", workload, overlay, payload=1_000, star=star, counting=True)
        for star in (None, Star(repository=0))
    )
    assert asking.asks > 0
    assert asking.hops == plain.hops + 2 * asking.asks
    assert plain.hop_latency < asking.hop_latency <= plain.hop_latency + 2


def test_a_network_that_is_not_there_is_named_with_those_that_are() -> None:
    workload = select_joins(10, 2, 1, r_rows=5, s_rows=100)
    with pytest.raises(TamisError, match="no network 'rings'; there are zones and links"):
        simulate("ref-j", workload, overlay_of(10, 100, 1), network="rings")


def test_the_same_seed_gives_the_same_traffic() -> None:
    workload = select_joins(300, 20, 1, r_rows=20, s_rows=100)
    first, again = (simulate("ref-sj-clu+", workload, overlay_of(10, 100, 1), counting=True) for _ in range(2))
    assert first.row == again.row
