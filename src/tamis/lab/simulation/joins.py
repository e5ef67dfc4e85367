"""Simulated runs of join workloads over a network: select-joins and multi-way mixes, for experiments and `tamis
simulate`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.arrays import Int64s
from tamis.joins.index.messages import Messages
from tamis.joins.index.ranges import LEFT, RIGHT, Ranges, Shape
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.joins.multiway import filtering_of
from tamis.joins.schemes.scheme import SCHEMES
from tamis.lab.simulation.accounting import Traffic
from tamis.lab.simulation.simulation import Overlay, Simulation, Star
from tamis.workloads.select_joins import EDGES, EDGES_OF, SIGNATURES, JoinMix, SelectJoins

# Select-joins: one scheme on the workload, as experiments and benchmarks measure it.

SHAPE = Shape((1, 1), ((LEFT, RIGHT),))


class Trial:
    """Subscriptions and tables of a workload in a scheme; further rows of R are added on demand.

    An event is a row of R that comes and the oldest that goes: two changes, the first of which has an even number.
    """

    def __init__(self, scheme: str, workload: SelectJoins) -> None:
        self.workload = workload
        self.scheme = SCHEMES[scheme](SHAPE)
        self.scheme.subscribe(ranges_of(workload))
        rows = workload.r_rows
        self._there = self.scheme.state.load(LEFT, workload.r_values[:rows], workload.r_keys[:rows])
        self.scheme.state.load(RIGHT, workload.s_values, workload.s_keys)
        self.played = 0

    def next(self, events: int) -> Changes:
        """Changes of the next events."""
        start = self.workload.r_rows + self.played
        stop = min(start + events, len(self.workload.r_keys))
        coming = self.scheme.state.rows[LEFT].put(self.workload.r_values[start:stop], self.workload.r_keys[start:stop])
        going = self._there[: len(coming)]
        self._there = np.concatenate([self._there[len(coming) :], coming])
        self.played += len(coming)
        old, new = (np.full(2 * len(coming), NO_ROW, np.int64) for _ in range(2))
        new[0::2], old[1::2] = coming, going
        return Changes(np.full(len(new), LEFT, np.int64), old, new)

    def play(self, events: int) -> Messages:
        return self.scheme.change(self.next(events))


def ranges_of(workload: SelectJoins) -> Ranges:
    """Subscriptions of a workload as numbers."""
    count = len(workload.a_low)
    low = np.column_stack((workload.a_low, workload.c_low))
    high = np.column_stack((workload.a_high, workload.c_high))
    return Ranges.of(SHAPE, low, high, np.zeros((count, 2)), np.zeros(count))


AT_ONCE = 1 << 16  # tuples of messages kept at a time, about


def simulate(
    scheme: str,
    workload: SelectJoins,
    overlay: Overlay,
    *,
    network: str = "zones",
    events: int | None = None,
    warm_up: int = 0,
    payload: int = 100,
    star: Star | None = None,
    counting: bool = False,
    leaves: int | None = 256,
    seed: int = 1,
) -> Traffic:
    """Runs a number of events (all of the workload's if None), after others that only fill tables, and repositories
    in CN*."""
    trial = Trial(scheme, workload)
    simulation = Simulation(
        SHAPE, ranges_of(workload), overlay, network,
        payload=payload, star=star, counting=counting, leaves=leaves, seed=seed,
    )  # fmt: skip
    state = trial.scheme.state
    simulation.payloads.loaded(LEFT, np.arange(len(state.rows[LEFT].values)))
    simulation.payloads.loaded(RIGHT, np.arange(len(state.rows[RIGHT].values)))
    _play(trial, simulation, warm_up, carrying=star is not None)
    before = simulation.traffic(0)
    played = trial.played
    _play(trial, simulation, workload.events - trial.played if events is None else events)
    return simulation.traffic(trial.played - played).since(before)


def _play(trial: Trial, simulation: Simulation, events: int, carrying: bool = True) -> None:
    """Plays a few events first, then as many at a time as keep the messages of a batch few."""
    left = min(events, trial.workload.events - trial.played)
    batch = min(left, 16, trial.workload.r_rows)
    while left > 0:
        changes = trial.next(min(batch, left))
        left -= min(batch, left)
        simulation.payloads.follow(changes)
        messages = trial.scheme.change(changes)
        if carrying:
            simulation.carry(messages)
        each = max(1, len(messages.table)) / max(1, len(changes) // 2)
        # A row that comes cannot go in the same batch.
        batch = max(1, min(4_096, int(AT_ONCE / each), trial.workload.r_rows))


# Multi-way joins: the mix with a scheme over a network.

MIX_SHAPE = Shape((1, 1, 1, 1), EDGES, signatures=SIGNATURES)
_BATCH = 20


def simulate_mix(
    scheme: str,
    mix: JoinMix,
    overlay: Overlay,
    decomposition: Int64s,
    *,
    events: int,
    payload: int = 100,
    bulky: Sequence[int] = (0, 1, 2, 3),
    network: str = "zones",
) -> Traffic:
    """Runs a number of events of a mix. `decomposition` says by signature and table which edge filters it (§4).

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
