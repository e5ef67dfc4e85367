"""Operators that are `async def`: their coroutines run to the end on an event loop that the calling thread keeps.

A coroutine is cancelled at its operator's time limit by the loop itself, so that it may close what it has opened, and
has `GRACE` to end. One that does not is given up as any call is, and its thread and loop with it.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tamis.errors import OperatorError
from tamis.operators.definition import Operator
from tamis.operators.supervision import LATE, LEAVING

if TYPE_CHECKING:
    from asyncio import Runner

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
    """Whether calling the operator's function gives a coroutine."""
    function = operator.function
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(code_of(function))


def patience(operator: Operator) -> float | None:
    """Seconds after which a call is given up from outside; None: never."""
    if operator.time_limit is None or not is_async(operator):
        return operator.time_limit
    return operator.time_limit + GRACE


def result_of(operator: Operator, by_position: Sequence[Any], by_name: Mapping[str, Any]) -> Any:
    """What one call of the function comes to, awaited where it is a coroutine; `LATE` if that was cancelled.

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
