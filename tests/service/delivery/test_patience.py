"""How long an endpoint that fails is left alone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tamis.service.delivery.sending import Backoff, Breakers
from tamis.service.delivery.webhooks import retry_after
from tests.service.delivery.made import NOON


def test_the_wait_doubles_up_to_the_longest_one() -> None:
    backoff = Backoff(1.0, 60.0, draw=lambda: 1.0)
    assert [backoff.delay(failures) for failures in (1, 2, 3, 6, 7, 8, 10_000)] == [1, 2, 4, 32, 60, 60, 60]


def test_jitter_is_full() -> None:
    assert Backoff(1.0, 60.0, draw=lambda: 0.0).delay(5) == 0.0
    assert Backoff(1.0, 60.0, draw=lambda: 0.5).delay(5) == 8.0


def test_what_an_endpoint_asks_for_is_the_least_wait_within_reason() -> None:
    backoff = Backoff(1.0, 60.0, draw=lambda: 0.5)
    assert backoff.delay(1, retry_after=30) == 30
    assert backoff.delay(1, retry_after=1e9) == 60
    assert backoff.delay(6, retry_after=3) == 16


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0), ("", 0), ("120", 120), (" 7 ", 7), ("-5", 0), ("1.5", 0), ("soon", 0), ("٣", 0),
        ("9" * 400, 9_999_999_999), ("Fri, 01 May 2026 12:01:00 GMT", 60), ("Fri, 01 May 2026 11:00:00 GMT", 0),
        ("Fri, 99 May 2026 12:01:00 GMT", 0),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: float) -> None:
    assert retry_after(header, NOON) == seconds


def test_a_breaker_opens_lets_one_through_and_closes() -> None:
    breakers = Breakers(threshold=3, seconds=30)
    for _ in range(3):
        assert breakers.of("a").wait(NOON) == 0
        breakers.fail("a", NOON, probe=breakers.of("a").begin())
    assert breakers.of("a").wait(NOON) == 30
    assert breakers.of("b").wait(NOON) == 0
    assert breakers.open_count == 1
    later = NOON + timedelta(seconds=30)
    assert breakers.of("a").wait(later) == 0
    assert breakers.of("a").begin()
    assert breakers.of("a").wait(later) > 0, "one at a time"
    breakers.succeed("a")
    assert breakers.of("a").wait(later) == 0
    assert breakers.open_count == 0


def test_a_failed_probe_opens_it_for_twice_as_long() -> None:
    breakers, now, waits = Breakers(threshold=1, seconds=10), NOON, []
    for _ in range(7):
        breakers.fail("a", now, probe=breakers.of("a").begin())
        waits.append(breakers.of("a").wait(now))
        now += timedelta(seconds=waits[-1])
    assert waits == [10, 20, 40, 80, 160, 160, 160]


def test_attempts_that_began_before_it_opened_do_not_keep_it_open() -> None:
    breakers = Breakers(threshold=1, seconds=10)
    before = [breakers.of("a").begin() for _ in range(5)]
    for probe in before:
        breakers.fail("a", NOON, probe)
    assert breakers.of("a").wait(NOON) == 10


def test_an_abandoned_probe_leaves_room_for_another() -> None:
    breakers = Breakers(threshold=1, seconds=10)
    breakers.fail("a", NOON, probe=False)
    later = NOON + timedelta(seconds=10)
    assert breakers.of("a").begin()
    breakers.of("a").abandon()
    assert breakers.of("a").wait(later) == 0
