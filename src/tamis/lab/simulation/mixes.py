"""The mix of multi-way joins with a scheme over a network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.joins.multiway import filtering_of
from tamis.joins.ranges import Ranges, Shape
from tamis.joins.schemes.scheme import SCHEMES
from tamis.joins.tables import NO_ROW, Changes
from tamis.lab.networks.regions import Integers
from tamis.lab.simulation.overlay import Overlay
from tamis.lab.simulation.simulation import Simulation
from tamis.lab.simulation.traffic import Traffic
from tamis.workloads.join_mix import EDGES, EDGES_OF, SIGNATURES, JoinMix

MIX_SHAPE = Shape((1, 1, 1, 1), EDGES, signatures=SIGNATURES)
_BATCH = 20


def simulate_mix(
    scheme: str,
    mix: JoinMix,
    overlay: Overlay,
    decomposition: Integers,
    *,
    events: int,
    payload: int = 100,
    bulky: Sequence[int] = (0, 1, 2, 3),
    network: str = "zones",
) -> Traffic:
    """So many events of a mix. `decomposition` says by signature and table which edge filters it (§4).

    Rows of the `bulky` tables have payloads.
    """
    running = SCHEMES[scheme](MIX_SHAPE)
    filtering = filtering_of(decomposition, mix.signature)
    ranges = Ranges.of(MIX_SHAPE, mix.low, mix.high, filtering, mix.signature)
    running.subscribe(ranges)
    simulation = Simulation(MIX_SHAPE, ranges, overlay, network, payload=payload, bulky=bulky)
    there = []
    for table, (values, keys) in enumerate(zip(mix.values, mix.keys, strict=True)):
        numbers = running.state.load(table, values, keys)
        simulation.payloads.loaded(table, numbers)
        there.append(numbers)
    for start in range(0, min(events, mix.events), _BATCH):
        chosen = np.arange(start, min(start + _BATCH, events, mix.events))
        tables = mix.table[chosen]
        changes_of = np.where(mix.replacing[chosen], 1, 2)
        last = np.cumsum(changes_of) - 1
        old, new = (np.full(int(changes_of.sum()), NO_ROW, np.int64) for _ in range(2))
        for table in range(MIX_SHAPE.tables):
            here = np.flatnonzero(tables == table)
            columns = list(EDGES_OF[table])
            coming = running.state.rows[table].put(mix.coming[chosen[here]], mix.coming_keys[chosen[here]][:, columns])
            new[last[here] - changes_of[here] + 1], old[last[here]] = coming, there[table][: len(here)]
            there[table] = np.concatenate([there[table][len(here) :], coming])
        changes = Changes(np.repeat(tables, changes_of), old, new)
        simulation.payloads.follow(changes)
        simulation.carry(running.change(changes))
    return simulation.traffic(min(events, mix.events))
