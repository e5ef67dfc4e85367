"""Events as a client gets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Delivered:
    """Events that came together: an Arrow batch, and for each event the ids of the subscriptions it satisfies.

    `origin`, `epoch`, `number` and `rows` name each event in the whole network, the same at every client.
    """

    events: pa.RecordBatch
    subscriptions: pa.Array
    origin: str
    epoch: str
    number: int
    rows: pa.Array

    def to_pylist(self) -> list[tuple[dict[str, Any], list[str]]]:
        """For each event what it has, and what it satisfies."""
        told = [
            {name: value for name, value in event.items() if value is not None} for event in self.events.to_pylist()
        ]
        return list(zip(told, self.subscriptions.to_pylist(), strict=True))
