"""The algorithms that a service matches by: the matcher with its options, and the schedule of operators."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from tamis.engine import Index, compile
from tamis.errors import TamisError
from tamis.matching.matchers import COLUMNAR, MATCHERS, Choice
from tamis.operators import Operator
from tamis.operators.schedules import require_schedule
from tamis.schema import Schema
from tamis.service.base.configuration import ConfigurationError, Settings


@dataclass(frozen=True, slots=True)
class Algorithms:
    """Algorithms that a table of subscriptions is compiled for. Immutable; noted beside the table."""

    choice: Choice = COLUMNAR
    schedule: str = "adaptive"

    @classmethod
    def of(cls, settings: Settings) -> Algorithms:
        """Algorithms of the settings; `ConfigurationError` if there are none of these names, or they do not serve."""
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
        """`ConfigurationError` if the matcher's options do not fit the schema."""
        if self.choice.options:
            try:
                self.compile(pa.table({"id": pa.array([], pa.string()), "filter": pa.array([], pa.string())}), schema)
            except TamisError as error:
                raise ConfigurationError(f"matcher_options: {error}") from error

    def compile(self, subscriptions: pa.Table, schema: Schema, operators: Iterable[Operator] | None = None) -> Index:
        """An index of a table with the columns id and filter."""
        return compile(
            subscriptions,
            schema,
            self.choice.matcher,
            options=self.choice.options,
            operators=operators,
            schedule=self.schedule,
        )

    def noted(self) -> dict[str, Any]:
        """Note on disk, in the form in which it is read again."""
        told = {"matcher": self.choice.matcher, "options": self.choice.options, "schedule": self.schedule}
        noted: dict[str, Any] = json.loads(json.dumps(told))
        return noted


USUAL: Final = Algorithms()
