"""Calls under a time limit: given up when it is past, without losing those before and after."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tamis.operators.health import LATE, Calls, Course, Supervisor


def run(supervisor: Supervisor, calls: list[Callable[[], Any]], limit: float | None) -> list[Any]:
    """The outcomes of calls, all made at one time of asking."""

    def course() -> Course[list[Any]]:
        outcomes = yield Calls(calls, limit)
        return outcomes

    return supervisor.drive(course(), limit)


def test_steps_are_done_in_order_on_another_thread() -> None:
    here = threading.get_ident()
    found = run(Supervisor(), [threading.get_ident, lambda: 2, lambda: 3], limit=10)
    assert found[1:] == [2, 3]
    assert found[0] != here


def test_a_step_that_takes_too_long_is_given_up_and_ends_what_is_left() -> None:
    waiting, ended = threading.Event(), threading.Event()

    def hang() -> None:
        try:
            while not waiting.wait(0.01):
                pass
        finally:
            ended.set()

    supervisor = Supervisor()
    assert run(supervisor, [lambda: 1, hang, lambda: 3], limit=0.2) == [1, LATE]
    # The thread gets an exception at its next step in Python, and is no more.
    assert ended.wait(10)
    assert run(supervisor, [lambda: 4], limit=10) == [4]


def test_a_thread_is_used_again() -> None:
    supervisor = Supervisor()
    (first,) = run(supervisor, [threading.get_ident], limit=10)
    (second,) = run(supervisor, [threading.get_ident], limit=10)
    assert first == second


def test_the_limit_is_of_each_step_not_of_all() -> None:
    pause = threading.Event()
    found = run(Supervisor(), [lambda: pause.wait(0.1)] * 6, limit=0.4)
    assert found == [False] * 6


def test_a_course_goes_on_where_a_call_hung() -> None:
    hung = threading.Event()

    def course() -> Course[list[Any]]:
        first = yield Calls([lambda: 1, hung.wait, lambda: 3], 0.2)
        second = yield Calls([lambda: 4, threading.get_ident], 10)
        third = yield Calls([hung.wait], 0.2)
        return [first, second[:1], third]

    assert Supervisor().drive(course(), 0.2) == [[1, LATE], [4], [LATE]]
    hung.set()


def test_what_a_course_raises_is_raised() -> None:
    def course() -> Course[None]:
        yield Calls([lambda: 1], None)
        raise LookupError("nothing here")

    supervisor = Supervisor()
    with pytest.raises(LookupError, match="nothing here"):
        supervisor.drive(course(), None)
    assert run(supervisor, [lambda: 2], None) == [2]


def test_threads_each_have_a_worker() -> None:
    supervisor, together = Supervisor(), threading.Barrier(3)
    found: list[list[object]] = []

    def ask() -> None:
        found.append(run(supervisor, [together.wait], limit=10))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(one for (one,) in found) == [0, 1, 2]  # type: ignore[type-var]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_makes_threads_of_its_own() -> None:
    supervisor = Supervisor()
    run(supervisor, [lambda: 1], limit=10)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if run(supervisor, [lambda: 2], limit=10) == [2] else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
