"""One call of an operator's function: what it is given, how long it takes, and what its failures are called."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.errors import OperatorError
from tamis.operators.answers import Answer, Answers, read_batch, read_scalar
from tamis.operators.awaiting import result_of
from tamis.operators.definition import Var
from tamis.operators.predicates import Predicate
from tamis.operators.schedules.truth import UNKNOWN
from tamis.operators.supervision import LATE, GivenUp, Late

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
    """What a failure is called. Raises it again if it is none of the operator's."""
    stopped = isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
    if stopped or isinstance(error, GivenUp):
        raise error
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    text = str(error) if isinstance(error, OperatorError) else text
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
