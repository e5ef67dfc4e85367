"""What a Sigma rule asks of a field, before it is known which domain the field's attribute has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from tamis.language.patterns import Wildcard
from tamis.language.tree import And, Negation, Or

L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class Match:
    """The whole value matches; case does not count unless `cased`."""

    parts: tuple[str | Wildcard, ...]
    cased: bool

    @property
    def literal(self) -> str | None:
        """The text, if there is no wildcard in it."""
        texts = [part for part in self.parts if isinstance(part, str)]
        return "".join(texts) if len(texts) == len(self.parts) else None


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression is found somewhere in the value."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Equal:
    """The value is this number or truth value, or a text that spells it."""

    value: int | float | bool

    @property
    def text(self) -> str:
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


@dataclass(frozen=True, slots=True)
class Compare:
    """One of <, <=, >, >= and a number."""

    operator: str
    number: int | float


@dataclass(frozen=True, slots=True)
class Given:
    """The field has a value (`exists: true`), or has none (`exists: false`, `null`)."""

    wanted: bool


@dataclass(frozen=True, slots=True)
class SameAs:
    """The value is that of another field."""

    field: str


@dataclass(frozen=True, slots=True)
class Network:
    """An IP address that one of these regular expressions matches."""

    patterns: tuple[str, ...]


Test: TypeAlias = Match | Regex | Equal | Compare | Given | SameAs | Network


@dataclass(frozen=True, slots=True)
class Asked:
    """A test of a field; `place` names it in the rule."""

    field: str
    test: Test


Node: TypeAlias = "And[Node[L]] | Or[Node[L]] | Negation[Node[L]] | L"
