"""Answers of an operator's function, checked and brought into one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int8s
from tamis.errors import OperatorError
from tamis.operators.predicates import Predicate
from tamis.operators.schedules.problem import FALSE, TRUE, UNKNOWN
from tamis.operators.values import Bindable, bindable, key_of

MOST_BINDINGS = 10_000
"""Bindings that one call may return for one event."""
ROW = "row"

Binding: TypeAlias = tuple[Bindable, ...]
"""A value for each variable of a predicate, by number."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a predicate on one event; `bindings` are sorted, none comes twice.

    There are some iff it is true and has variables. `failure` says what went wrong if something did.
    """

    truth: int
    bindings: tuple[Binding, ...] = ()
    failure: str = ""


NO = Answer(FALSE)
YES = Answer(TRUE)
UNTOLD = Answer(UNKNOWN)


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of predicates on many events, a place each; `bindings` has the places where there are some."""

    truths: Int8s
    bindings: dict[int, tuple[Binding, ...]] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)

    @classmethod
    def none(cls, places: int) -> Answers:
        """Nothing known yet."""
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
        """The answers to these places."""
        self.truths[places] = some.truths
        self.bindings.update((int(places[place]), bindings) for place, bindings in some.bindings.items())


def read_scalar(returned: object, predicate: Predicate) -> Answer:
    """The answer of a function that was given one event."""
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
    """The answer with these bindings; None stands for one whose repeated variables do not agree."""
    different = {tuple(map(key_of, one)): one for one in bindings if one is not None}
    return Answer(TRUE, tuple(different[key] for key in sorted(different))) if different else NO


def read_batch(returned: object, predicate: Predicate, rows: int) -> Answers:
    """The answers of a function that was given so many events."""
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
    """A value a variable; None where one that stands in two places is bound to two things."""
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
