"""A real server killed under load: `python -m benchmarks service-kills` does the same some hundred times."""

from __future__ import annotations

import pytest

from benchmarks.service_kills import kills_of_spark, kills_of_the_service

pytestmark = [pytest.mark.slow, pytest.mark.spark]


def test_nothing_is_lost_or_told_twice_when_the_service_is_killed() -> None:
    toll, survivors = kills_of_the_service(10, seed=3)
    assert toll.nothing, toll
    assert toll.published > 100
    assert survivors == 0


def test_nothing_is_lost_or_told_twice_when_spark_or_a_worker_is_killed() -> None:
    toll, _ = kills_of_spark(3, seed=4)
    assert toll.nothing, toll
    assert toll.published > 100
