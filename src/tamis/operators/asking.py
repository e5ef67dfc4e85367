"""Operator call: invokes a scalar, batch or async function under its time limit, checks its answers, names failures."""

from __future__ import annotations

import contextvars
import functools
import inspect
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int8s
from tamis.errors import OperatorError
from tamis.operators.health import LATE, LEAVING, GivenUp, Late
from tamis.operators.predicates import Predicate
from tamis.operators.registry import Operator, Var
from tamis.operators.schedules.problem import FALSE, TRUE, UNKNOWN
from tamis.operators.values import Bindable, bindable, key_of

if TYPE_CHECKING:
    from asyncio import Runner


# Answers of an operator's function, checked and brought into one form.

MOST_BINDINGS = 10_000
"""Bindings that one call may return for one event."""
ROW = "row"

Binding: TypeAlias = tuple[Bindable, ...]
"""A value for each variable of a predicate, by number."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a predicate on one event; `bindings` are sorted and distinct.

    There are some iff it is true and has variables. `failure` names the failure if there was one.
    """

    truth: int
    bindings: tuple[Binding, ...] = ()
    failure: str = ""


NO = Answer(FALSE)
YES = Answer(TRUE)
UNTOLD = Answer(UNKNOWN)


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of predicates on many events, by place; `bindings` has the places where there are some."""

    truths: Int8s
    bindings: dict[int, tuple[Binding, ...]] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)

    @classmethod
    def none(cls, places: int) -> Answers:
        """Answers of which nothing is known yet."""
        return cls(np.full(places, UNKNOWN, np.int8))

    def __len__(self) -> int:
        return len(self.truths)

    def __getitem__(self, place: int) -> Answer:
        return Answer(int(self.truths[place]), self.bindings.get(place, ()), self.failures.get(place, ""))

    def set(self, place: int, answer: Answer) -> None:
        self.truths[place] = answer.truth
        if answer.bindings:
            self.bindings[place] = answer.bindings
        if answer.failure:
            self.failures[place] = answer.failure

    def take(self, places: npt.NDArray[np.int64], some: Answers) -> None:
        """Answers to these places."""
        self.truths[places] = some.truths
        self.bindings.update((int(places[place]), bindings) for place, bindings in some.bindings.items())


def read_scalar(returned: object, predicate: Predicate) -> Answer:
    """Answer of a function that was given one event."""
    if returned is None:
        return UNTOLD
    if isinstance(returned, bool | np.bool_):
        if not returned:
            return NO
        if predicate.variables:
            raise OperatorError("returned True for a call with variables; return what they are bound to")
        return YES
    if not predicate.variables:
        raise OperatorError(f"returned a {type(returned).__name__} for a call without variables; return True or False")
    single = isinstance(returned, int | float | str | datetime | np.generic | Mapping)
    listed = [returned] if single else returned
    if not isinstance(listed, Iterable) or isinstance(listed, bytes | bytearray | memoryview):
        raise OperatorError(f"returned a {type(returned).__name__}; return the variables' bindings, as a list")
    return bound([_binding(item, predicate) for item in _few(listed)])


def bound(bindings: Iterable[Binding | None]) -> Answer:
    """Answer with these bindings; None stands for one whose repeated variables do not agree."""
    different = {tuple(map(key_of, one)): one for one in bindings if one is not None}
    return Answer(TRUE, tuple(different[key] for key in sorted(different))) if different else NO


def read_batch(returned: object, predicate: Predicate, rows: int) -> Answers:
    """Answers of a function that was given so many events."""
    return _tabled(returned, predicate, rows) if predicate.variables else Answers(_truths(returned, rows))


def _truths(returned: object, rows: int) -> Int8s:
    if isinstance(returned, np.ndarray | list | tuple):
        returned = _listed(returned)
    if not isinstance(returned, pa.Array | pa.ChunkedArray):
        raise OperatorError(f"returned a {type(returned).__name__}; return an Arrow array of booleans")
    if not (pa.types.is_boolean(returned.type) or pa.types.is_null(returned.type)):
        raise OperatorError(f"returned an array of {returned.type}; return one of booleans")
    if len(returned) != rows:
        raise OperatorError(f"returned {len(returned)} answers for {rows} events")
    if returned.null_count:
        return np.array([UNKNOWN if value is None else int(value) for value in returned.to_pylist()], np.int8)
    return np.asarray(returned.to_numpy(zero_copy_only=False) if isinstance(returned, pa.Array) else returned, np.int8)


def _listed(values: Iterable[object]) -> pa.Array:
    given = list(values)
    for value in given:
        if value is not None and not isinstance(value, bool | np.bool_):
            raise OperatorError(f"returned {value!r} among its answers; return True, False or None for each event")
    return pa.array([None if value is None else bool(value) for value in given], pa.bool_())


def _tabled(returned: object, predicate: Predicate, rows: int) -> Answers:
    table = pa.table(returned) if isinstance(returned, Mapping) else returned
    if not isinstance(table, pa.Table | pa.RecordBatch):
        raise OperatorError(f"returned a {type(returned).__name__}; return a table with {ROW} and a column a variable")
    wanted = [ROW, *(parameter.name for _, parameter in predicate.places)]
    for name in wanted:
        if name not in table.schema.names:
            raise OperatorError(f"returned a table without a column {name}; it needs {', '.join(wanted)}")
    if len(table) > rows * MOST_BINDINGS:
        raise OperatorError(f"returned more than {MOST_BINDINGS:,} bindings for an event")
    places: list[Any] = table.column(ROW).to_pylist()
    columns = [table.column(name).to_pylist() for name in wanted[1:]]
    found: dict[int, list[Binding | None]] = {}
    for place, *values in zip(places, *columns, strict=True):
        if not isinstance(place, int) or not 0 <= place < rows:
            raise OperatorError(f"returned a binding for row {place}, and there are {rows}")
        some = found.setdefault(place, [])
        some.append(_agreed(values, predicate))
        if len(some) > MOST_BINDINGS:
            raise OperatorError(f"returned more than {MOST_BINDINGS:,} bindings for an event")
    answers = Answers(np.full(rows, FALSE, np.int8))
    for place, some in found.items():
        answers.set(place, bound(some))
    return answers


def _binding(item: object, predicate: Predicate) -> Binding | None:
    parameters = [parameter for _, parameter in predicate.places]
    if isinstance(item, Mapping):
        missing = [parameter.name for parameter in parameters if parameter.name not in item]
        if missing:
            raise OperatorError(f"returned a binding without {missing[0]}")
        values: Sequence[object] = [item[parameter.name] for parameter in parameters]
    elif isinstance(item, tuple | list):
        values = item
    else:
        values = [item]
    if len(values) != len(parameters):
        names = ", ".join(parameter.name for parameter in parameters)
        raise OperatorError(f"returned {len(values)} values for {len(parameters)} variables ({names})")
    return _agreed(values, predicate)


def _agreed(values: Sequence[object], predicate: Predicate) -> Binding | None:
    """Values of the variables; None where a repeated variable is bound to two values."""
    found: list[Bindable | None] = [None] * predicate.variables
    for (number, parameter), value in zip(predicate.places, values, strict=True):
        read = bindable(value, parameter.kind)
        known = found[number]
        if known is not None and key_of(known) != key_of(read):
            return None
        found[number] = read
    return tuple(found)  # type: ignore[arg-type]  # every variable has a place


def _few(listed: Iterable[object]) -> Iterable[object]:
    for count, item in enumerate(listed):
        if count >= MOST_BINDINGS:
            raise OperatorError(f"returned more than {MOST_BINDINGS:,} bindings for an event")
        yield item


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
    """Underlying function: of a partial the one within it, of an object its `__call__`."""
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
    """Seconds after which a call is abandoned from outside; None: never."""
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
    """Result of the coroutine, or its exception; `LATE` if it was cancelled, however it reacts to that."""
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
    """Calls a scalar operator for one event."""
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
    """Calls a batch operator for many events: one predicate for all, or one for each, all of a kind."""
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
    """Arguments of predicates of a kind, an array each, with a value per predicate; `Var` where variables stand."""
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
    """Name of a failure. Raises the exception again if it is none of the operator's."""
    stopped = isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
    if stopped or isinstance(error, GivenUp):
        raise error
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    text = str(error) if isinstance(error, OperatorError) else text
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
