"""Operators that are `async def`: awaited on a loop of the calling thread, and cancelled at their limit."""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.errors import OperatorError
from tamis.operators import asking as awaiting
from tamis.operators.schedules import SCHEDULES

SCHEMA = tamis.Schema.from_dict({"attributes": {"n": "integer"}, "event_types": {"e": {"n": "mandatory"}}})
EVENTS = [{"n": number} for number in range(40)]


def compiled(filters: dict[str, str], *operators: tamis.Operator, **options: Any) -> tamis.Index:
    return tamis.compile(filters, SCHEMA, operators=operators, **options)


async def divides(n: int, by: int) -> bool:
    await asyncio.sleep(0)
    return n % by == 0


async def multiples(n: int, of: int, times: int = tamis.Var) -> Any:
    await asyncio.sleep(0)
    if times is tamis.Var:
        return [n // of] if n % of == 0 else []
    return n == of * times


async def odd(n: pa.Array) -> list[bool]:
    await asyncio.sleep(0)
    return [one % 2 == 1 for one in n.to_pylist()]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_coroutines_are_awaited_and_agree_with_the_oracle(schedule: str) -> None:
    operators = (tamis.operator(divides), tamis.operator(multiples), tamis.operator(batch=True)(odd))
    filters = {
        "three": "divides(3) AND NOT divides(2)",
        "few": "multiples(5, ?times) AND ?times > 2",
        "odd": "odd() AND divides(5)",
        "two": "multiples(4, 2)",
    }
    index = compiled(filters, *operators, schedule=schedule)
    found, oracle = index.match(EVENTS), compiled(filters, *operators, matcher="naive").match(EVENTS)
    assert [sorted(ids) for ids in found.to_lists()] == [sorted(ids) for ids in oracle.to_lists()]
    assert len(found) == 7 + 5 + 4 + 1
    assert {one.variables["times"] for one in found.bindings()} == {3, 4, 5, 6, 7}
    assert all(one.tally.unknown == 0 for one in index.operators)


class Asks:
    async def __call__(self, n: int, by: int) -> bool:
        return await divides(n, by)


@pytest.mark.parametrize("function", [Asks(), functools.partial(Asks()), functools.partial(divides)])
def test_objects_and_partials_are_awaited_too(function: Callable[..., Any]) -> None:
    index = compiled({"even": "asks(2)"}, tamis.operator(name="asks")(function))
    assert len(index.match(EVENTS)) == 20


def test_an_operator_can_still_be_awaited_by_hand() -> None:
    assert asyncio.run(tamis.operator(divides)(6, 3))


def test_one_loop_serves_all_calls_of_a_thread() -> None:
    loops: set[asyncio.AbstractEventLoop] = set()

    @tamis.operator
    async def noting(n: int) -> bool:
        loops.add(asyncio.get_running_loop())
        return True

    index = compiled({"all": "noting()"}, noting)
    for _ in range(3):
        assert len(index.match(EVENTS)) == 40
    assert len(loops) == 1


@pytest.mark.parametrize("matcher", ["columnar", "naive"])
def test_a_program_that_has_a_loop_of_its_own_may_match_within_it(matcher: str) -> None:
    index = compiled({"even": "divides(2)"}, tamis.operator(divides), matcher=matcher)

    async def matching() -> int:
        return len(index.match(EVENTS))

    assert asyncio.run(matching()) == 20


@pytest.mark.parametrize("batch", [False, True])
def test_a_coroutine_is_cancelled_at_its_limit_and_may_clean_up(batch: bool) -> None:
    seen: list[str] = []

    async def stuck(n: Any) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        finally:
            await asyncio.sleep(0)
            seen.append("closed")

    threads = threading.active_count()
    index = compiled({"a": "stuck()", "b": "n > 3"}, tamis.operator(time_limit=0.1, batch=batch)(stuck))
    for number in range(2):
        assert index.match([{"n": 4 + number}]).to_lists() == [["b"]]
    calls = index.operators["stuck"].tally.calls
    assert seen == ["cancelled", "closed"] * calls
    tally = index.operators["stuck"].tally
    assert (tally.timeouts, tally.unknown, tally.failures) == (2, 2, 0)
    assert "longer than its time limit" in tally.last_failure
    assert threading.active_count() <= threads + 1  # the thread is not lost


def test_a_coroutine_that_keeps_hanging_is_left_alone_before_the_other_rows() -> None:
    @tamis.operator(time_limit=0.05)
    async def stuck(n: int) -> bool:
        await asyncio.Event().wait()
        return True

    index = compiled({"a": "stuck()"}, stuck)
    index.match(EVENTS)
    tally = index.operators["stuck"].tally
    assert (tally.timeouts, tally.suspended) == (3, 37)
    assert index.operators["stuck"].suspended


def test_a_coroutine_that_blocks_its_loop_or_will_not_be_cancelled_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awaiting, "GRACE", 0.1)
    hold, ended = threading.Event(), threading.Event()

    async def blocks(n: int) -> bool:
        return hold.wait(30)

    async def insists(n: int) -> bool:
        try:
            while not hold.is_set():
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    continue
        finally:
            ended.set()
        return True

    operators = [tamis.operator(time_limit=0.1)(one) for one in (blocks, insists)]
    index = compiled({"a": "blocks()", "b": "insists()", "c": "divides(2)"}, *operators, tamis.operator(divides))
    assert index.match([{"n": 4}]).to_lists() == [["c"]]
    assert [index.operators[name].tally.timeouts for name in ("blocks", "insists")] == [1, 1]
    hold.set()
    assert ended.wait(30)


def test_what_a_coroutine_raises_is_a_failure_of_its_event_alone() -> None:
    class Rude(BaseException):
        """What no operator should raise."""

    @tamis.operator
    async def picky(n: int) -> bool:
        await asyncio.sleep(0)
        if n < 5:
            raise (ValueError, SystemExit, Rude, TimeoutError, asyncio.CancelledError)[n](f"no {n}")
        return True

    index = compiled({"a": "picky()"}, picky)
    assert [len(ids) for ids in index.match(EVENTS[:8]).to_lists()] == [0] * 5 + [1] * 3
    tally = index.operators["picky"].tally
    assert (tally.failures, tally.timeouts, tally.evaluations) == (5, 0, 8)
    assert "CancelledError: no 4" in tally.last_failure


def test_a_plain_function_that_returns_a_coroutine_is_told_to_be_async() -> None:
    index = compiled({"a": "hidden()"}, tamis.operator(name="hidden")(lambda n: divides(n, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        index.match(EVENTS[:2])
        gc.collect()
    assert "declare it with async def" in index.operators["hidden"].tally.last_failure


def listing(n: int) -> Iterator[bool]:
    yield n > 3


async def streaming(n: int, value: int = tamis.Var) -> AsyncIterator[int]:
    yield n


def binding(n: int, value: int = tamis.Var) -> Iterator[int]:
    yield from (n, n + 1)


class Yields:
    def __call__(self, n: int) -> Iterator[bool]:
        yield True


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (listing, {}, "is a generator"),
        (Yields(), {}, "is a generator"),
        (functools.partial(listing), {}, "is a generator"),
        (binding, {"batch": True}, "is a generator"),
        (streaming, {}, "is an async generator"),
        (functools.partial(streaming), {}, "is an async generator"),
    ],
)
def test_generators_that_could_only_be_unknown_are_refused(
    function: Callable[..., Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OperatorError, match=message):
        tamis.operator(name="x", **options)(function)


def test_a_generator_may_yield_bindings_one_by_one() -> None:
    found = compiled({"a": "binding(?v) AND ?v > 4"}, tamis.operator(binding)).match([{"n": 3}, {"n": 4}])
    assert found.to_lists() == [[], ["a"]]


def test_a_preparation_that_nobody_would_await_is_refused() -> None:
    async def load() -> None:
        """Loads."""

    with pytest.raises(OperatorError, match="prepare is called and not awaited"):
        tamis.operator(prepare=load)(divides)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_loops_of_its_own_and_leaves_its_parent_s_alone() -> None:
    @tamis.operator(time_limit=10)
    async def elsewhere(n: int) -> bool:
        # Another thread wakes the loop, by a pipe that a child must not have closed.
        return await asyncio.get_running_loop().run_in_executor(None, lambda: n % 2 == 0)

    index = compiled({"even": "elsewhere()"}, elsewhere)
    assert len(index.match(EVENTS)) == 20
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if len(index.match(EVENTS)) == 20 and not gc.collect() < 0 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert len(index.match(EVENTS)) == 20
    assert index.operators["elsewhere"].tally.timeouts == 0


def test_the_loop_of_a_thread_that_is_given_up_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awaiting, "GRACE", 0.1)
    hold, seen = threading.Event(), list[tuple[threading.Thread, asyncio.AbstractEventLoop]]()

    @tamis.operator(time_limit=0.1)
    async def blocks(n: int) -> bool:
        seen.append((threading.current_thread(), asyncio.get_running_loop()))
        return hold.wait(30)

    assert compiled({"a": "blocks()"}, blocks).match(EVENTS[:1]).to_lists() == [[]]
    hold.set()
    ((thread, loop),) = seen
    thread.join(30)
    assert (thread.is_alive(), loop.is_closed()) == (False, True)


def test_threads_that_match_at_once_each_have_a_loop() -> None:
    index = compiled({"even": "divides(2)"}, tamis.operator(divides))
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(len(index.match(EVENTS * 5)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert counts == [100] * 4
