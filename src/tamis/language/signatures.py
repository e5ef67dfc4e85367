"""What the language knows of an operator: its name and what its calls take. What it does is told elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from tamis.language.predicates import Value

ParameterKind: TypeAlias = Literal["integer", "float", "string", "boolean", "timestamp", "any"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of an operator's calls.

    `variable`: a variable may stand there, and does where the argument is left out. `optional`: it may be left out, and
    is then `default`, where None is *nothing given*. `choices` are all the strings that may be given; none: any.
    """

    name: str
    kind: ParameterKind = "any"
    variable: bool = False
    optional: bool = False
    default: Value | None = None
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        kind = "" if self.kind == "any" else f": {self.kind}"
        return f"?{self.name}{kind}" if self.variable else f"{self.name}{kind}{' (optional)' * self.optional}"


@dataclass(frozen=True, slots=True)
class Signature:
    """An operator's name, version, and parameters in the order of a call's arguments; `rest` takes any number more."""

    name: str
    parameters: tuple[Parameter, ...] = ()
    rest: Parameter | None = None
    version: str = "1"

    def __str__(self) -> str:
        listed = [*map(str, self.parameters), *([f"{self.rest}, ..."] if self.rest else [])]
        return f"{self.name}({', '.join(listed)})"


class Signatures(Mapping[str, Signature]):
    """The operators that filters may call, by name. Immutable; compared and hashed by what it holds."""

    def __init__(self, signatures: Iterable[Signature] = ()) -> None:
        self._by_name = {signature.name: signature for signature in signatures}

    def __getitem__(self, name: str) -> Signature:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    @cached_property
    def _key(self) -> frozenset[Signature]:
        return frozenset(self._by_name.values())

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Signatures) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)


NO_OPERATORS = Signatures()
