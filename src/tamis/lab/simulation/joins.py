"""The select-join workload with a scheme over a network: what experiments and `tamis simulate` run."""

from __future__ import annotations

import numpy as np

from tamis.joins.ranges import LEFT, RIGHT
from tamis.joins.trial import SHAPE, Trial, ranges_of
from tamis.lab.simulation.overlay import Overlay
from tamis.lab.simulation.simulation import Simulation, Star
from tamis.lab.simulation.traffic import Traffic
from tamis.workloads.select_joins import SelectJoins

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
    """So many events (all of the workload's if None) after others that only fill tables, and repositories in CN*."""
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
    """A few events first, then as many at a time as keep the messages of a batch few."""
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
