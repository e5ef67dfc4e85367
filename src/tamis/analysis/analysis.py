"""Result of an analysis: its tables, summary and picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.analysis.findings import FINDINGS, reason
from tamis.errors import TamisError
from tamis.schema import Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Analysis:
    """Tables about subscriptions under one schema.

    `subscriptions` has one row each (`findings.SCHEMA`); `attributes` and `predicates` (`hot.py`) are by how many
    subscriptions use them, the predicates only the most used. `events` is how many events of a history were matched.
    `refused` are the subscriptions that could not be taken, by id. `compared` counts the pairs of filters that were
    looked at for covers, of about the square of all.
    """

    schema: Schema
    subscriptions: pa.Table
    attributes: pa.Table
    predicates: pa.Table
    events: int
    refused: list[tuple[str, TamisError]]
    compared: int

    def __len__(self) -> int:
        return int(self.subscriptions.num_rows)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of subscriptions with each finding, and of those that could go without anything being lost."""
        found = pc.value_counts(self.subscriptions["finding"].drop_null()).to_pylist()
        by_name = {row["values"]: row["counts"] for row in found}
        return {name: by_name.get(name, 0) for name in FINDINGS}

    @property
    def superfluous(self) -> int:
        """Subscriptions that could go: contradictory, duplicate or covered."""
        return sum(self.counts[name] for name in ("contradictory", "duplicate", "covered"))

    def examples(self, finding: str, count: int) -> list[dict[str, Any]]:
        """Some rows that have a finding."""
        rows = self.subscriptions.filter(pc.fill_null(pc.equal(self.subscriptions["finding"], finding), False))
        taken: list[dict[str, Any]] = rows.slice(0, count).to_pylist()
        return taken

    def filters(self, ids: Iterable[str]) -> dict[str, str]:
        """The filters of some subscriptions, by id."""
        rows = self.subscriptions.filter(pc.is_in(self.subscriptions["id"], pa.array(list(ids), pa.string())))
        return dict(zip(rows["id"].to_pylist(), rows["filter"].to_pylist(), strict=True))

    def dearest(self, count: int) -> list[dict[str, Any]]:
        """The subscriptions that cost most to match, dearest first, each with its share of all and with a `reason`."""
        cost = np.asarray(self.subscriptions["nanoseconds_per_event"])
        order = np.argsort(-cost, kind="stable")[:count]
        total = max(cost.sum(), 1e-12)
        rows: list[dict[str, Any]] = self.subscriptions.take(pa.array(order)).to_pylist()
        popular = self.attributes["attribute"].to_pylist()[:_POPULAR]
        for row in rows:
            row["share"] = row["nanoseconds_per_event"] / total
            expected = row["matches_per_event"]
            seen = expected if row["matches"] is None or not self.events else row["matches"] / self.events
            looked = row["candidates_per_event"]
            row["reason"] = reason(row["filter"], row["conjuncts"], looked, seen, popular, self.schema)
        return rows

    def summary(self, top: int = 10) -> dict[str, Any]:
        """Everything at a glance, ready for JSON."""
        table = self.subscriptions
        return {
            "subscriptions": len(self),
            "refused": len(self.refused),
            "findings": dict(self.counts),
            "superfluous": self.superfluous,
            "undecided": pc.sum(table["undecided"]).as_py() or 0,
            "compared": self.compared,
            "events": self.events,
            "per_event": {
                name: pc.sum(table[f"{name}_per_event"]).as_py() or 0.0
                for name in ("candidates", "matches", "nanoseconds")
            },
            "bytes": pc.sum(table["bytes"]).as_py() or 0,
            "dearest": [
                {key: row[key] for key in _DEAREST} for row in self.dearest(top) if row["nanoseconds_per_event"] > 0
            ],
            "attributes": self.attributes.slice(0, top).to_pylist(),
            "predicates": self.predicates.slice(0, top).to_pylist(),
            "examples": {
                name: [{key: row[key] for key in ("id", "filter", "remedy")} for row in self.examples(name, top)]
                for name in FINDINGS
            },
        }

    def plot(self, path: str | Path | None = None, top: int = 12) -> Figure:
        """Writes the picture to a .png, .svg or .pdf file: findings, the most expensive, and what is asked for most."""
        from tamis.analysis.picture import plot

        return plot(self, path, top)


_POPULAR = 8
_DEAREST = (
    "id", "filter", "nanoseconds_per_event", "share", "candidates_per_event", "matches_per_event", "entries", "reason",
)  # fmt: skip
