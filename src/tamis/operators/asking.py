"""One call of an operator's function: what it is given, how long it takes, and what its failures are called."""

from __future__ import annotations

import contextvars
import functools
import inspect
import os
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.errors import OperatorError
from tamis.operators.answers import Answer, Answers, read_batch, read_scalar
from tamis.operators.definition import Operator, Var
from tamis.operators.predicates import Predicate
from tamis.operators.schedules.problem import UNKNOWN
from tamis.operators.supervision import LATE, LEAVING, GivenUp, Late

if TYPE_CHECKING:
    from asyncio import Runner


# Operators that are `async def`: their coroutines run to the end on an event loop that the calling thread keeps.
#
# A coroutine is cancelled at its operator's time limit by the loop itself, so that it may close what it has opened, and
# has `GRACE` to end. One that does not is given up as any call is, and its thread and loop with it.

GRACE = 1.0
"""Seconds that a coroutine may take to end once it is cancelled."""

# By process and thread, and not in a `threading.local`: a forked process would close the loops of threads that it does
# not have, and with them what the loops of its parent wait by.
_RUNNERS: dict[tuple[int, int], Runner] = {}


def code_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function whose code runs: of a partial the one within it, of an object its `__call__`."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    called: Callable[..., Any] = type(function).__call__
    return called


def is_async(operator: Operator) -> bool:
    """True if calling the operator's function gives a coroutine."""
    function = operator.function
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(code_of(function))


def patience(operator: Operator) -> float | None:
    """Seconds after which a call is given up from outside; None: never."""
    if operator.time_limit is None or not is_async(operator):
        return operator.time_limit
    return operator.time_limit + GRACE


def result_of(operator: Operator, by_position: Sequence[Any], by_name: Mapping[str, Any]) -> Any:
    """Result of one call of the function, awaited where it is a coroutine; `LATE` if that was cancelled.

    A coroutine wants a thread without a running loop, which `Supervisor`'s are.
    """
    returned = operator.function(*by_position, **by_name)
    if not inspect.iscoroutine(returned):
        return returned
    if not is_async(operator):
        returned.close()
        raise OperatorError("returned a coroutine; declare it with async def, so that its calls are awaited")
    # Whatever it raises leaves the loop as a result: some exceptions would stop the loop itself.
    result, error = _runner().run(_ended(returned, operator.time_limit), context=contextvars.copy_context())
    if error is not None:
        raise error
    return result


async def _ended(coroutine: Coroutine[Any, Any, Any], limit: float | None) -> tuple[Any, BaseException | None]:
    """The coroutine's result, or what it raised; `LATE`, whatever it makes of being cancelled."""
    from asyncio import timeout

    result: Any = None
    error: BaseException | None = None
    try:
        async with timeout(limit) as until:
            result = await coroutine
    except BaseException as raised:  # noqa: BLE001 - raised again outside of the loop
        error = raised
    return (LATE, None) if until.expired() else (result, error)


def _runner() -> Runner:
    from asyncio import Runner  # to import it takes longer than to import much of Tamis

    key = (os.getpid(), threading.get_ident())
    known = _RUNNERS.get(key)
    if known is None:
        known = _RUNNERS[key] = Runner()
    return known


def close_loop() -> None:
    """Closes the loop of this thread, if it has one, with all that still runs on it: the thread is about to end."""
    runner = _RUNNERS.pop((os.getpid(), threading.get_ident()), None)
    if runner is not None:
        runner.close()


LEAVING.append(close_loop)


Timed: TypeAlias = tuple[Answer, float] | Late
"""An answer, and the seconds it took; or the call was cancelled at its limit."""
TimedMany: TypeAlias = tuple[Answers | str, float] | Late
"""Answers, or why there are none, and the seconds it took; or the call was cancelled at its limit."""

_SHOWN = 300
_TYPES = {"integer": pa.int64(), "float": pa.float64(), "string": pa.string(), "boolean": pa.bool_()}
_TYPES |= {"timestamp": pa.timestamp("us", "UTC")}


def ask(predicate: Predicate, inputs: Sequence[Any]) -> Timed:
    """A scalar operator, about one event."""
    began = time.perf_counter()
    try:
        returned = result_of(predicate.resolved.operator, *predicate.resolved.passed(inputs, predicate.given))
        if returned is LATE:
            return LATE
        answer = read_scalar(returned, predicate)
    except BaseException as error:  # noqa: BLE001 - an operator may raise anything, and is unknown then
        answer = Answer(UNKNOWN, failure=failure_of(error))
    return answer, time.perf_counter() - began


def ask_many(predicates: Sequence[Predicate], inputs: Sequence[Any], rows: int) -> TimedMany:
    """A batch operator, about so many events: one predicate for all of them, or one for each, all of a kind."""
    began = time.perf_counter()
    first = predicates[0]
    answers: Answers | str
    try:
        given = columns_of(predicates) if first.resolved.operator.together else first.given
        returned = result_of(first.resolved.operator, *first.resolved.passed(inputs, given))
        if returned is LATE:
            return LATE
        answers = read_batch(returned, first, rows)
    except BaseException as error:  # noqa: BLE001 - as above
        answers = failure_of(error)
    return answers, time.perf_counter() - began


def columns_of(predicates: Sequence[Predicate]) -> list[Any]:
    """The arguments of predicates of a kind, an array each, with a value a predicate; `Var` where variables stand."""
    formals = predicates[0].resolved.arguments
    columns: list[Any] = []
    for place, values in enumerate(zip(*[predicate.given for predicate in predicates], strict=True)):
        kind = formals[min(place, len(formals) - 1)].parameter.kind
        columns.append(Var if values[0] is Var else _column(values, kind))
    return columns


def _column(values: Sequence[Any], kind: str) -> pa.Array:
    if kind in ("integer", "float") and values[0] is not None:
        return pa.array(np.array(values, np.int64 if kind == "integer" else np.float64))
    return pa.array(values, _TYPES.get(kind))


def failure_of(error: BaseException) -> str:
    """Name of a failure. Raises it again if it is none of the operator's."""
    stopped = isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
    if stopped or isinstance(error, GivenUp):
        raise error
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    text = str(error) if isinstance(error, OperatorError) else text
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
