"""Numbers as people write and read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.cli.base.failures import CommandError
from tamis.cli.bench.numbers import count, duration, figures, memory, round_duration, short


@pytest.mark.parametrize(
    ("text", "number"), [("500", 500), ("10k", 10_000), ("1M", 1_000_000), (" 3.2m ", 3_200_000), ("0.5k", 500)]
)
def test_numbers_of_subscriptions_are_read(text: str, number: int) -> None:
    assert count(text) == number


def test_memory_is_read_in_powers_of_two() -> None:
    assert (memory("4G"), memory("1.5k"), memory("100")) == (4 << 30, 1536, 100)


@pytest.mark.parametrize("text", ["", "k", "ten", "10q", "-5", "0", "nan", "inf", "1e99", "10kk"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match="is not a number of subscriptions"):
        count(text)


@given(st.integers(1, 10_000_000))
def test_a_short_number_is_read_back(number: int) -> None:
    assert count(short(number).replace(",", "")) == number


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
