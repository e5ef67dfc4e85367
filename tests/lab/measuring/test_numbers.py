"""Numbers as people read them."""

from __future__ import annotations

import pytest

from tamis.lab.timing import duration, figures, round_duration, rounded, short


def test_short_numbers_are_short() -> None:
    assert [short(n) for n in (10, 999, 1000, 10_000, 3_200_000, 1234)] == ["10", "999", "1k", "10k", "3.2M", "1,234"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.5e-9, "1.50 ns"),
        (1.0212e-6, "1.02 µs"),
        (12.34e-6, "12.3 µs"),
        (0.9996e-3, "1.00 ms"),
        (0.5, "500 ms"),
        (4000, "4,000 s"),
    ],
)
def test_durations_have_three_figures(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_figures_and_ticks() -> None:
    assert [figures(n) for n in (0.0, 9.994, 9.996, 99.96, 12345.6)] == ["0.00", "9.99", "10.0", "100", "12,346"]
    assert [round_duration(t) for t in (5e-7, 1e-5, 2e-3)] == ["500 ns", "10 µs", "2 ms"]


def test_rounded_numbers_have_three_figures() -> None:
    assert [rounded(n) for n in (0.5, 999, 1234, 10_000, 3_200_000)] == ["0.5", "999", "1.23k", "10k", "3.2M"]
