"""Timing of calls."""

from __future__ import annotations

import gc
import time

import pytest

from tamis.lab.timing import best_of, elapsed, percentile, seconds, uncollected


def test_waiting_takes_time_by_the_clock_and_none_of_the_processor() -> None:
    assert elapsed(lambda: time.sleep(0.05)) >= 0.05
    assert seconds(lambda: time.sleep(0.05)) < 0.05


def test_works_take_turns_after_each_was_warmed_up() -> None:
    called: list[str] = []
    times = best_of(2, lambda: called.append("a"), lambda: called.append("b"))
    assert called == ["a", "b"] * 3
    assert len(times) == 2


def test_the_best_of_several_times_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 3.0, 10.0, 11.0, 20.0, 22.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    assert best_of(3, lambda: None) == [1.0]


def test_a_percentile_is_one_of_the_values() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert [percentile(values, share) for share in (0.0, 0.5, 0.99, 1.0)] == [1.0, 51.0, 100.0, 100.0]


def test_garbage_is_collected_again_even_where_a_work_failed() -> None:
    def failing() -> None:
        with uncollected():
            assert not gc.isenabled()
            raise ValueError

    with pytest.raises(ValueError):
        failing()
    assert gc.isenabled()
