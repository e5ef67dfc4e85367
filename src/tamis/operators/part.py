"""Abstract base class of the index's part for filters that call operators, implemented by each of their matchers."""

from __future__ import annotations

import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from tamis.language import Signatures
from tamis.matching.base.matcher import Answer, Binding
from tamis.matching.codes.holders import Holders
from tamis.matching.explanation import Explanation
from tamis.matching.patterns import PatternSet
from tamis.matching.taking_in import BoundSubscriptions
from tamis.operators.health import Health, OperatorTable
from tamis.operators.learning import Lessons, Seen
from tamis.operators.registry import Operator, Resolved

CALLS_FILE = "operators.json"


class CallingPart(ABC):
    """Part of an index with the subscriptions that call operators; false as long as there are none.

    Observations of operators travel between processes by `lessons`, `known`, `take` and `start_from`.
    """

    FORMAT: ClassVar[int] = 2
    oracle: ClassVar[bool] = False
    schedule: str
    """The order in which operators are called."""

    def __init__(self, operators: Mapping[str, Resolved]) -> None:
        self.resolved = operators

    @property
    def operators(self) -> list[Operator]:
        """Operators that filters may call."""
        return [resolved.operator for resolved in self.resolved.values()]

    @property
    def signatures(self) -> Signatures:
        """Signatures that the language needs to check calls."""
        return Signatures(resolved.signature for resolved in self.resolved.values())

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __contains__(self, id: object) -> bool: ...

    @abstractmethod
    def ids(self) -> list[str]:
        """Ids in this part, in no particular order."""

    @abstractmethod
    def text(self, id: str) -> str:
        """Text of a subscription as it was written."""

    @abstractmethod
    def add(self, subscriptions: BoundSubscriptions) -> None:
        """Adds the filters that call operators; none of their ids is present yet."""

    @abstractmethod
    def remove(self, ids: Iterable[str]) -> None:
        """Removes subscriptions, all of them present."""

    @abstractmethod
    def match(self, batch: pa.RecordBatch) -> tuple[Answer, Callable[[], list[Binding]]]:
        """Matches of the events of a canonical batch, and their bindings, made when asked for."""

    @abstractmethod
    def holders_of(self, patterns: PatternSet) -> Holders | None:
        """Subscriptions that hold the patterns of a set beside their calls; None if the set is not this part's.

        Asked by the meter of a match that is under way (`metering.Meter`), in its thread.
        """

    @abstractmethod
    def explain(self, event: Mapping[str, object], id: str) -> Explanation:
        """Explains every condition of a subscription on one event, with the evaluations in their order."""

    @abstractmethod
    def statistics(self) -> OperatorTable:
        """Statistics of the operators."""

    @abstractmethod
    def saved(self) -> dict[str, Any]:
        """State of the part without its operators: `texts` by id, and what was `learned`."""

    @abstractmethod
    def lessons(self) -> Lessons:
        """Observations of this process since the last call of this, for other processes."""

    @abstractmethod
    def known(self) -> Mapping[str, Seen]:
        """Observations of the predicates, by operator."""

    @abstractmethod
    def take(self, lessons: Lessons) -> None:
        """Adds observations of another process from other events of the same stream."""

    @abstractmethod
    def start_from(self, seen: Mapping[str, Seen]) -> None:
        """Replaces the observations by those of all processes."""

    @abstractmethod
    def adopt(self, health: Health) -> None:
        """Shares tallies and suspensions with other indexes of this process; before the first match."""

    @abstractmethod
    def learn_again(self, learned: Mapping[str, Any]) -> None:
        """Takes over saved observations."""

    def save(self, folder: Path) -> dict[str, Any]:
        """Writes the subscriptions into the folder of an index; returns the part's entries of its description."""
        content = json.dumps(self.saved()).encode()
        (folder / CALLS_FILE).write_bytes(content)
        versions = {name: resolved.operator.version for name, resolved in self.resolved.items()}
        about = {"versions": versions, "schedule": self.schedule, "checksum": zlib.crc32(content)}
        return {"operators": about | {"oracle": self.oracle}}
