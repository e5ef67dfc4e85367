"""Attacks on a service beside which somebody publishes and reads; `attacks` has the long form, a command with times."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

pytest.importorskip("websockets", reason="the service extra is not installed")

from tests.service.attackers import ATTACKS
from tests.service.attacks import ALL, PLACES, run
from tests.service.bystander import p99


@pytest.mark.slow
@pytest.mark.spark
def test_attacks_are_refused_or_bounded_and_a_bystander_misses_nothing(tmp_path: Path) -> None:
    found = run(ALL, seconds=6.0, folder=tmp_path)
    assert [each.name for each in found if each.faults] == [], "\n".join(map(str, found))
    assert all(math.isfinite(each.during) for each in found if each.name != "M5"), "what was published was read"


def test_every_attack_is_made_on_some_service() -> None:
    assert {attack for attack, _ in PLACES.values()} == set(ATTACKS)


def test_the_99th_percentile_of_100_times_is_the_second_longest() -> None:
    assert p99([float(n) for n in range(100)]) == 98.0
    assert p99([3.0]) == 3.0
