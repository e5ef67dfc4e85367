"""Numbers of options, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.cli.base.options import CommandError
from tamis.cli.bench.numbers import count, memory
from tamis.lab.timing import short


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
