"""Faulty sources and sinks fail when they are told to, and not otherwise."""

from __future__ import annotations

import pytest

from tamis.testing import FailingSink, Fault, FaultySource, Pause, SinkFailedError, SourceAbortedError


def test_a_source_gives_its_items_in_order() -> None:
    source = FaultySource([1, 2, 3])
    assert list(source) == [1, 2, 3]
    assert source.exhausted


def test_a_source_that_ends_goes_on_when_read_again() -> None:
    source = FaultySource([1, Fault.END, 2])
    assert list(source) == [1]
    assert not source.exhausted
    assert list(source) == [2]


def test_a_source_that_aborts_raises_once_and_resumes_behind_the_break() -> None:
    source = FaultySource([1, 2, Fault.ABORT, 3])
    reader = iter(source)
    assert [next(reader), next(reader)] == [1, 2]
    with pytest.raises(SourceAbortedError, match="3 of 4"):
        next(reader)
    assert list(source) == [3]


def test_a_source_that_pauses_waits_and_loses_nothing() -> None:
    assert list(FaultySource([1, Pause(0.0), 2])) == [1, 2]


def test_a_replay_gives_the_last_items_again_without_their_faults() -> None:
    source = FaultySource([1, 2, Fault.END, 3])
    assert list(source) == [1, 2]
    source.replay(1)
    assert list(source) == [2, 3]


def test_a_sink_fails_after_so_many_writes_and_then_works_again() -> None:
    written: list[int] = []
    sink = FailingSink(written.append, after=2)
    sink(1)
    sink(2)
    with pytest.raises(SinkFailedError, match="write 3"):
        sink(3)
    sink(3)
    assert written == [1, 2, 3]
    assert (sink.attempts, sink.written) == (4, 3)


def test_a_sink_that_fails_late_has_written_all_the_same() -> None:
    written: list[int] = []
    sink = FailingSink(written.append, after=0, late=True)
    with pytest.raises(SinkFailedError):
        sink(1)
    assert written == [1]
