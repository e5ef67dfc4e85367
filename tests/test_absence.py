"""Parts that go and come back, and how little is said of it."""

from __future__ import annotations

import logging
import threading

import pytest

from tamis.absence import Absence


class Played:
    """An absence on a clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0
        self.part = Absence("the part", logging.getLogger("tamis.test"), lambda: self.now)


def test_an_outage_is_two_lines_however_often_the_part_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    played = Played()
    played.part.met()
    for played.now in range(1, 62):
        played.part.missed("connection refused")
        assert played.part.lasts
    played.now = 70
    for _ in range(5):
        played.part.met()
        assert not played.part.lasts
    assert [record.getMessage() for record in caplog.records] == [
        "the part does not answer: connection refused",
        "the part answers again after 60 seconds, in which it was asked in vain 61 times",
    ]


def test_a_part_that_comes_and_goes_is_not_said_to_be_back_each_time(caplog: pytest.LogCaptureFixture) -> None:
    played = Played()
    for _ in range(100):
        played.now += 0.1
        played.part.missed("it went")
        played.now += 0.1
        played.part.met()
    assert played.part.lasts, "the last failure is a moment ago"
    for _ in range(20):
        played.now += 1.5
        played.part.met()
        played.part.missed("it went")
    assert len(caplog.records) == 2


def test_threads_that_fail_together_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    played = Played()
    threads = [threading.Thread(target=played.part.missed, args=("it went",)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(caplog.records) == 1
