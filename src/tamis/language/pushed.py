"""A filter between syntax tree and normal form: AND and OR over leaves and negated leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tamis.language.calls import Called
from tamis.language.predicates import Literal


@dataclass(frozen=True, slots=True)
class All:
    """Every item holds. Without items: TRUE."""

    items: tuple[Pushed, ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """Some item holds. Without items: FALSE."""

    items: tuple[Pushed, ...] = ()


Pushed: TypeAlias = All | Some | Literal | Called

Conjunct: TypeAlias = tuple[Literal, ...]
"""Literals that all hold: unique, and sorted by `predicates.sort_key`."""
