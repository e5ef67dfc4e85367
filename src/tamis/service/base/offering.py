"""Operators, algorithms and schema that a service matches by: offering, matcher and schedule, serving schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from tamis.engine import Index, compile
from tamis.errors import OperatorError, SchemaError, TamisError
from tamis.language import Signatures
from tamis.matching.matchers import COLUMNAR, MATCHERS, Choice
from tamis.operators import Operator, Registry
from tamis.operators.matcher import resolved_all
from tamis.operators.registry import Resolved, operators_named
from tamis.operators.schedules import require_schedule
from tamis.schema import Schema
from tamis.service.base.configuration import ConfigurationError, Settings
from tamis.service.base.events import PASSED_OVER

_SCHEMAS: Final = 8  # how many schemas are remembered at a time: the one in force, and some before it
_CALL: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|([A-Za-z_]\w*)\s*\(")


class Offering:
    """Operators that a service offers to filters, loaded once, with their checks against a schema. Immutable; safe from
    any thread.
    """

    def __init__(self, operators: Iterable[Operator] = ()) -> None:
        self._registry = Registry(operators)
        self.resolved = lru_cache(_SCHEMAS)(self._resolved)
        self.signatures = lru_cache(_SCHEMAS)(self._signatures)

    @classmethod
    def named(cls, names: Iterable[str]) -> Offering:
        """Loads the named operators; `OperatorError` if one cannot be loaded, or two have the same name."""
        return cls(operators_named(names))

    def __bool__(self) -> bool:
        return bool(self._registry)

    @property
    def operators(self) -> list[Operator] | None:
        """Operators as `compile` takes them; None where none are offered, so that plain indexes stay plain."""
        return list(self._registry.values()) or None

    @property
    def versions(self) -> dict[str, str]:
        """Version of each operator, by name: an index depends on them."""
        return {name: operator.version for name, operator in self._registry.items()}

    def missing(self, text: str) -> set[str]:
        """Operators that a filter calls and that are not offered. Reads the text alone, also an invalid one."""
        called = {found[1] for found in _CALL.finditer(text) if found[1] is not None}
        return {name for name in called if name.upper() not in _KEYWORDS and name not in self._registry}

    def check_extension(self, before: Schema, after: Schema) -> None:
        """Raises `OperatorError` if a schema extension would change the meaning of calls of an operator."""
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


# Algorithms that a service matches by: the matcher with its options, and the schedule of operators.


@dataclass(frozen=True, slots=True)
class Algorithms:
    """Matcher and schedule that a subscription table is compiled for. Immutable; recorded beside the table."""

    choice: Choice = COLUMNAR
    schedule: str = "adaptive"

    @classmethod
    def of(cls, settings: Settings) -> Algorithms:
        """Algorithms of the settings; `ConfigurationError` if a name or option is invalid."""
        try:
            choice = Choice.of(settings.matcher, settings.matcher_options)
            require_schedule(settings.schedule)
        except TamisError as error:
            raise ConfigurationError(str(error)) from error
        if not MATCHERS[choice.matcher].tells_holders:
            raise ConfigurationError(
                f"the matcher {choice.matcher!r} does not tell whose slow patterns take how long, which a service "
                "needs to suspend them; choose another, such as columnar or tree"
            )
        return cls(choice, settings.schedule)

    def check(self, schema: Schema) -> None:
        """Raises `ConfigurationError` if the matcher's options do not fit the schema."""
        if self.choice.options:
            try:
                self.compile(pa.table({"id": pa.array([], pa.string()), "filter": pa.array([], pa.string())}), schema)
            except TamisError as error:
                raise ConfigurationError(f"matcher_options: {error}") from error

    def compile(self, subscriptions: pa.Table, schema: Schema, operators: Iterable[Operator] | None = None) -> Index:
        """Compiles an index of a table with the columns id and filter."""
        return compile(
            subscriptions,
            schema,
            self.choice.matcher,
            options=self.choice.options,
            operators=operators,
            schedule=self.schedule,
        )

    def noted(self) -> dict[str, Any]:
        """Record on disk, as it is read back."""
        told = {"matcher": self.choice.matcher, "options": self.choice.options, "schedule": self.schedule}
        noted: dict[str, Any] = json.loads(json.dumps(told))
        return noted


USUAL: Final = Algorithms()


# Serving schema: the user's schema, with the attributes of CloudEvents on every event type.

CONTEXT_ATTRIBUTES: Final = {
    "ce.id": "string",
    "ce.source": "string",
    "ce.type": "string",
    "ce.subject": "string",
    "ce.specversion": "string",
    "ce.datacontenttype": "string",
    "ce.dataschema": "string",
    "ce.time": "timestamp",
}
"""The core context attributes. Extensions are not among them: filters on those are checked on each event by itself."""


def serving_schema(schema: Schema | None) -> Schema:
    """Adds the context attributes of CloudEvents, all optional, to a schema; without one, a single event type `event`
    has only these.

    Serving a serving schema changes nothing.
    """
    if schema is None:
        schema = Schema.from_dict({"attributes": {}, "event_types": {"event": {}}})
    for name in schema.attributes:
        if name == PASSED_OVER or name.startswith(f"{PASSED_OVER}."):
            message = "events have under this name what the schema had no attribute for when they were published"
            raise SchemaError(message, f"attributes.{name}", "call it otherwise")
    for name, domain in CONTEXT_ATTRIBUTES.items():
        known = schema.attributes.get(name)
        if known is not None and (known.domain.kind != domain or known.multiple):
            message = f"{name!r} is an attribute of CloudEvents, and holds one {domain}"
            raise SchemaError(message, f"attributes.{name}", "take it out of the schema, or call it otherwise")
    added = {name: domain for name, domain in CONTEXT_ATTRIBUTES.items() if name not in schema.attributes}
    optional = {
        event_type.name: {name: "optional" for name in CONTEXT_ATTRIBUTES if name not in event_type.annotations}
        for event_type in schema.event_types.values()
    }
    optional = {event_type: names for event_type, names in optional.items() if names}
    return schema.extend(attributes=added, optional=optional) if added or optional else schema
