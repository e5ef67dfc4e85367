"""Two services while processes are killed and PostgreSQL and Kafka go away; `outages` has the long form, a command."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("aiokafka", reason="the service extra is not installed")

from scripts.kafka_broker import BrokerUnavailableError
from scripts.postgres import PostgresUnavailableError
from tests.service.outages import expected, run

pytestmark = [pytest.mark.slow, pytest.mark.spark]


def test_two_services_lose_nothing_and_stay_ready_through_kills_and_outages(tmp_path: Path) -> None:
    try:
        verdict = run(kills=5, outage=10.0, seed=2, folder=tmp_path)
    except (BrokerUnavailableError, PostgresUnavailableError) as missing:
        pytest.skip(str(missing))
    assert verdict.expected > 1_000, "else it would say nothing"
    assert not verdict.faults, str(verdict)


def test_what_is_expected_is_what_is_in_the_windows() -> None:
    published = [{"n": 1, "price": 5.0}, {"n": 2, "price": 9.0}, {"n": 3, "price": 10.0}]
    assert expected(published, [(5.0, 10.0), (10.0, 11.0), (20.0, 30.0)]) == {(0, 1): 1, (0, 2): 1, (1, 3): 1}
