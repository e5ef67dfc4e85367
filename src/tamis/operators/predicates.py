"""Distinct predicates of an index: operator calls up to the names of their variables, shared between subscriptions.

Two calls are one predicate iff operator, version and constants agree and their variables unify: `p(?x, ?y)` is `p(?a,
?b)` and not `p(?x, ?x)` (Liu et al. 2007, §3). Each is evaluated at most once per event,
however many subscriptions have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.language.calls import Argument, Call, Parameter, Variable, part_key
from tamis.language.printing import print_called
from tamis.matching.base.flat_arrays import reaching
from tamis.operators.registry import Resolved, Var
from tamis.operators.values import outside

Key: TypeAlias = tuple[Any, ...]
APART = -1


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate: an operator with its arguments, variables numbered by first occurrence.

    `arguments` has a `Variable` for each place of one; `places` gives for these, in order, the variable's number and
    the parameter it stands for. `variables` is the count of distinct ones.
    """

    number: int
    resolved: Resolved
    arguments: tuple[Argument, ...]
    places: tuple[tuple[int, Parameter], ...]
    variables: int
    given: tuple[Any, ...]
    """The arguments as the function gets them."""
    kind: Key
    """Common part of the predicates that one call of the function can evaluate: all but their values."""

    @property
    def name(self) -> str:
        """Name of the operator."""
        return self.resolved.operator.name

    def __str__(self) -> str:
        return print_called(Call(self.name, self.arguments))


class Predicates:
    """Predicates of one index, by number. A number is given once and stays, also when no subscription wants it."""

    def __init__(self, operators: Mapping[str, Resolved]) -> None:
        self._operators = operators
        self._numbers: dict[Key, int] = {}
        self._predicates: list[Predicate] = []
        self._kinds: dict[Key, int] = {}
        self._kind_of = np.zeros(0, np.int32)

    def __len__(self) -> int:
        return len(self._predicates)

    def __getitem__(self, number: int) -> Predicate:
        return self._predicates[number]

    def listed(self, numbers: Iterable[int]) -> list[Predicate]:
        return list(map(self._predicates.__getitem__, numbers))

    def __iter__(self) -> Iterator[Predicate]:
        return iter(self._predicates)

    def number(self, call: Call) -> int:
        """Number of a call's predicate, whatever the call's sign and the names of its variables."""
        key, names = _unified(call)
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self._predicates)
            predicate = self._made(known, call, names)
            self._predicates.append(predicate)
            self._kind_of = reaching(self._kind_of, known, APART)
            if predicate.resolved.operator.together:
                self._kind_of[known] = self._kinds.setdefault(predicate.kind, len(self._kinds))
        return known

    def kinds(self, numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Number of each predicate's kind, if calls of a kind are made together; `APART` if they are not."""
        return self._kind_of[numbers]

    def _made(self, number: int, call: Call, names: dict[str, int]) -> Predicate:
        resolved = self._operators[call.operator]
        arguments = tuple(
            Variable(f"x{names[part.name] + 1}") if isinstance(part, Variable) else part for part in call.arguments
        )
        listed = [formal.parameter for formal in resolved.arguments if formal.passed != "as rest"]
        places = tuple(
            (names[part.name], parameter)
            for part, parameter in zip(call.arguments, listed, strict=False)
            if isinstance(part, Variable)
        )
        given = tuple(Var if isinstance(one, Variable) else outside(one) for one in arguments)  # type: ignore[arg-type]
        kind = (call.operator, *(one.name if isinstance(one, Variable) else type(one) for one in arguments))
        return Predicate(number, resolved, arguments, places, len(names), given, kind)


def _unified(call: Call) -> tuple[Key, dict[str, int]]:
    names: dict[str, int] = {}
    parts = tuple(
        names.setdefault(part.name, len(names)) if isinstance(part, Variable) else part_key(part)
        for part in call.arguments
    )
    return (call.operator, *parts), names


def variables_in_order(call: Call) -> tuple[str, ...]:
    """Names of a call's variables in the order of their numbers in its predicate."""
    return tuple(dict.fromkeys(part.name for part in call.arguments if isinstance(part, Variable)))
