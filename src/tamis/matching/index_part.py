"""The protocol of an index's parts, each for one kind of subscription; and the part of plain filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

from tamis.language import Limits
from tamis.matching.base.matcher import Matcher
from tamis.matching.explanation import Explanation, explain
from tamis.matching.taking_in import BoundSubscriptions
from tamis.schema import Schema


class IndexPart(Protocol):
    """Some of an index's subscriptions: plain filters, filters that call operators, or joins.

    A subscription is in one part. Changes are made by one thread at a time.
    """

    FORMAT: ClassVar[int]
    """The first format of saved indexes that has this part."""

    def add(self, subscriptions: BoundSubscriptions, /) -> object:
        """Adds those of the part's kind; none of their ids is in the index yet."""
        ...

    def remove(self, ids: Iterable[str], /) -> None:
        """Removes subscriptions of this part."""
        ...

    def ids(self) -> Any:
        """The ids in this part, in no particular order: a list, or an Arrow array."""
        ...

    def text(self, id: str) -> str:
        """A subscription as it was written."""
        ...

    def explain(self, event: Mapping[str, object], id: str) -> Explanation:
        """Every condition of a subscription on one event."""
        ...

    def save(self, folder: Path) -> dict[str, Any]:
        """Writes files into the folder of an index; returns what the index's description says of them."""
        ...

    def __contains__(self, id: object) -> bool: ...

    def __len__(self) -> int: ...


class FilterPart:
    """The filters of an index that call no operator, in a matcher."""

    FORMAT: ClassVar[int] = 1

    def __init__(self, matcher: Matcher, schema: Schema, limits: Limits) -> None:
        self.matcher = matcher
        self.match = matcher.match
        self.remove = matcher.remove
        self.ids = matcher.ids
        self.text = matcher.text
        self._schema = schema
        self._limits = limits

    def add(self, subscriptions: BoundSubscriptions) -> None:
        """Adds the filters without calls."""
        self.matcher.add(subscriptions.plain)

    def explain(self, event: Mapping[str, object], id: str) -> Explanation:
        """Every condition of a filter on one event: held, failed, or absent."""
        return explain(self.text(id), event, self._schema, self._limits)

    def save(self, folder: Path) -> dict[str, Any]:
        """Writes the matcher's files; returns its name."""
        self.matcher.save(folder)
        return {"matcher": self.matcher.name}

    def __contains__(self, id: object) -> bool:
        return id in self.matcher

    def __len__(self) -> int:
        return len(self.matcher)
