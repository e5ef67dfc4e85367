"""The operators that a service offers to filters: those it was told, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from tamis.errors import OperatorError
from tamis.language import Signatures
from tamis.operators import Operator, Registry
from tamis.operators.calling_part import resolved_all
from tamis.operators.registry import operators_named
from tamis.operators.resolution import Resolved
from tamis.schema import Schema

_SCHEMAS: Final = 8  # how many schemas are remembered at a time: the one in force, and some before it
_CALL: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|([A-Za-z_]\w*)\s*\(")


class Offering:
    """Operators loaded once, and what filters may say of them under a schema. Immutable; safe from any thread."""

    def __init__(self, operators: Iterable[Operator] = ()) -> None:
        self._registry = Registry(operators)
        self.resolved = lru_cache(_SCHEMAS)(self._resolved)
        self.signatures = lru_cache(_SCHEMAS)(self._signatures)

    @classmethod
    def named(cls, names: Iterable[str]) -> Offering:
        """Loads what is named; `OperatorError` if one is not to be had, or two have the same name."""
        return cls(operators_named(names))

    def __bool__(self) -> bool:
        return bool(self._registry)

    @property
    def operators(self) -> list[Operator] | None:
        """Operators as `compile` takes them; None where nothing is offered, so that plain indexes stay plain."""
        return list(self._registry.values()) or None

    @property
    def versions(self) -> dict[str, str]:
        """The version of each operator, by name: what an index depends on."""
        return {name: operator.version for name, operator in self._registry.items()}

    def missing(self, text: str) -> set[str]:
        """Operators that a filter calls and that are not offered. Reads the text alone, also one that is no filter."""
        called = {found[1] for found in _CALL.finditer(text) if found[1] is not None}
        return {name for name in called if name.upper() not in _KEYWORDS and name not in self._registry}

    def check_extension(self, before: Schema, after: Schema) -> None:
        """`OperatorError` if a schema that has grown would change what calls of an operator mean."""
        known = self.resolved(before)
        for name, resolved in self.resolved(after).items():
            if resolved.inputs != known[name].inputs:
                taken = set(resolved.attributes) - set(known[name].attributes)
                raise OperatorError(
                    f"the operator {name} has a parameter {', '.join(sorted(taken))}, which calls give it so far: call "
                    f"the attribute otherwise, or declare the operator with reads="
                )

    def _resolved(self, schema: Schema) -> Mapping[str, Resolved]:
        return resolved_all(self._registry.values(), schema)

    def _signatures(self, schema: Schema) -> Signatures:
        return Signatures(resolved.signature for resolved in self.resolved(schema).values())


_KEYWORDS: Final = frozenset(["AND", "OR", "NOT", "IN", "LIKE", "ILIKE", "RLIKE", "BETWEEN", "CAST"])
NOTHING: Final = Offering()
