"""Calls under a time limit: given up when it is past, without losing those before and after."""

from __future__ import annotations

import os
import threading

import pytest

from tamis.operators.supervision import LATE, Supervisor


def test_steps_are_done_in_order_on_another_thread() -> None:
    here = threading.get_ident()
    found = Supervisor().run([threading.get_ident, lambda: 2, lambda: 3], limit=10)
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
    assert supervisor.run([lambda: 1, hang, lambda: 3], limit=0.2) == [1, LATE]
    # The thread gets an exception at its next step in Python, and is no more.
    assert ended.wait(10)
    assert supervisor.run([lambda: 4], limit=10) == [4]


def test_a_thread_is_used_again() -> None:
    supervisor = Supervisor()
    (first,) = supervisor.run([threading.get_ident], limit=10)
    (second,) = supervisor.run([threading.get_ident], limit=10)
    assert first == second


def test_the_limit_is_of_each_step_not_of_all() -> None:
    pause = threading.Event()
    found = Supervisor().run([lambda: pause.wait(0.1)] * 6, limit=0.4)
    assert found == [False] * 6


def test_threads_each_have_a_worker() -> None:
    supervisor, together = Supervisor(), threading.Barrier(3)
    found: list[list[object]] = []

    def ask() -> None:
        found.append(supervisor.run([together.wait], limit=10))

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
    supervisor.run([lambda: 1], limit=10)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if supervisor.run([lambda: 2], limit=10) == [2] else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
