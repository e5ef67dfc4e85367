"""The part of an index for joins: a server of joins that is saved and opened with the index."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from tamis.joins.explanation import JoinExplanation, explain_join
from tamis.joins.saved import open_joins, save_joins
from tamis.joins.server import JoinServer
from tamis.language import Limits
from tamis.schema import Schema


class JoinPart(JoinServer):
    """The tables of a schema, and those subscriptions of an index that join them."""

    FORMAT: ClassVar[int] = 3

    def explain(self, event: Mapping[str, object], id: str) -> JoinExplanation:
        """The conditions on the event's table, and what the event would be joined with as the tables are now."""
        return explain_join(self, id, event)

    def save(self, folder: Path) -> dict[str, Any]:
        """Writes subscriptions and tables; returns what the index's description says of them."""
        return {"joins": save_joins(self, folder)}

    @classmethod
    def open(cls, folder: Path, about: Mapping[str, Any], schema: Schema, limits: Limits, verify: bool) -> Self:
        """Reads what `save` wrote, given the index's description; empty where that says nothing of joins."""
        part = cls(schema, limits=limits)
        if "joins" in about:
            open_joins(part, folder, about["joins"], verify)
        return part
