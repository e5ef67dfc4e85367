"""Registry of matchers by name, and the choice of one with options; protocol of an index's parts, and the part for
plain filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from tamis.errors import TamisError
from tamis.language import Limits
from tamis.lazy_registry import LazyRegistry
from tamis.matching.base.matcher import Matcher
from tamis.matching.explanation import Explanation, explain
from tamis.matching.taking_in import BoundSubscriptions
from tamis.schema import Schema

if TYPE_CHECKING:
    from tamis.matching.base.matcher import Matcher, Subscriptions
    from tamis.matching.base.statistics import Statistics
    from tamis.schema import Schema


class IndexPart(Protocol):
    """Part of an index, for one kind of subscription: plain filters, filters that call operators, or joins.

    A subscription is in one part. Changes are made by one thread at a time.
    """

    FORMAT: ClassVar[int]
    """The first format of saved indexes that has this part."""

    def add(self, subscriptions: BoundSubscriptions, /) -> object:
        """Adds the subscriptions of the part's kind; none of their ids is in the index yet."""
        ...

    def remove(self, ids: Iterable[str], /) -> None:
        """Removes subscriptions of this part."""
        ...

    def ids(self) -> Any:
        """Ids in this part, in no particular order: a list, or an Arrow array."""
        ...

    def text(self, id: str) -> str:
        """Text of a subscription as it was written."""
        ...

    def explain(self, event: Mapping[str, object], id: str) -> Explanation:
        """Explains every condition of a subscription on one event."""
        ...

    def save(self, folder: Path) -> dict[str, Any]:
        """Writes files into the folder of an index; returns the part's entries of the index's description."""
        ...

    def __contains__(self, id: object) -> bool: ...

    def __len__(self) -> int: ...


class FilterPart:
    """Part of an index for filters that call no operator, in a matcher."""

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
        """Explains every condition of a filter on one event: held, failed, or absent."""
        return explain(self.text(id), event, self._schema, self._limits)

    def save(self, folder: Path) -> dict[str, Any]:
        """Writes the matcher's files; returns its name."""
        self.matcher.save(folder)
        return {"matcher": self.matcher.name}

    def __contains__(self, id: object) -> bool:
        return id in self.matcher

    def __len__(self) -> int:
        return len(self.matcher)


# Registry of matchers: each is imported when it is first asked for.

MATCHERS: Final[LazyRegistry[type[Any]]] = LazyRegistry(
    {
        "columnar": "tamis.matching.columnar.level:ColumnarMatcher",
        "naive": "tamis.matching.naive:NaiveMatcher",
        "fair-predicate": "tamis.lab.le_subscribe.counting:FairPredicateMatcher",
        "equality-preferred": "tamis.lab.le_subscribe.clustering:EqualityPreferredMatcher",
        "quarantine": "tamis.lab.le_subscribe.clustering:QuarantineMatcher",
        "hanson": "tamis.lab.le_subscribe.hanson:HansonMatcher",
        "neon": "tamis.lab.le_subscribe.neon:NeonMatcher",
        "gough": "tamis.lab.le_subscribe.gough:GoughMatcher",
        "scan": "tamis.lab.le_subscribe.verified:ScanMatcher",
        "tree": "tamis.lab.tree.matcher:TreeMatcher",
        "mbd": "tamis.lab.diagrams.matcher:MbdMatcher",
    }
)
AUTO: Final = "auto"
CHOSEN: Final = "columnar"
"""The matcher that `auto` stands for, whatever the subscriptions: docs/bench.md has the measurements."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A matcher's name and options, as a setting."""

    matcher: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, matcher: str, options: Mapping[str, Any] | None = None) -> Choice:
        """Choice of a known matcher, `auto` being the fastest by measurement; `TamisError` lists the known ones."""
        name = CHOSEN if matcher == AUTO else matcher
        if name not in MATCHERS:
            raise TamisError(f"there is no matcher {name!r}; there are {', '.join((*MATCHERS, AUTO))}")
        if options:
            kind = MATCHERS[name]
            if not hasattr(kind, "options"):
                raise TamisError(f"the matcher {name!r} has no options, so none can be {', '.join(options)}")
            kind.options.from_dict(options)
        return cls(name, dict(options or {}))

    @classmethod
    def behind(cls, matcher: Matcher) -> Choice:
        """Choice that a matcher was built by."""
        return cls(matcher.name, dict(matcher.given_options))

    def build(self, subscriptions: Subscriptions, schema: Schema, statistics: Statistics | None) -> Matcher:
        """Builds the matcher of bound subscriptions."""
        kind = MATCHERS[self.matcher]
        given = {"options": kind.options.from_dict(self.options)} if self.options else {}
        built: Matcher = kind.build(subscriptions, schema, statistics, **given)
        return built


COLUMNAR: Final = Choice("columnar")
