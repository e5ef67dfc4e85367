"""All matchers, by name: each is loaded when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tamis.errors import TamisError
from tamis.lazy_registry import LazyRegistry

if TYPE_CHECKING:
    from tamis.matching.base.matcher import Matcher, Subscriptions
    from tamis.matching.base.statistics import Statistics
    from tamis.schema import Schema

MATCHERS: Final[LazyRegistry[type[Any]]] = LazyRegistry(
    {
        "columnar": "tamis.matching.columnar.level:ColumnarMatcher",
        "naive": "tamis.matching.naive:NaiveMatcher",
        "fair-predicate": "tamis.lab.le_subscribe.counting:FairPredicateMatcher",
        "equality-preferred": "tamis.lab.le_subscribe.equality_preferred:EqualityPreferredMatcher",
        "quarantine": "tamis.lab.le_subscribe.equality_preferred:QuarantineMatcher",
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
"""What `auto` comes to, whatever the subscriptions are: docs/bench.md has the measurements that say so."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A matcher that there is, and options that it has, by name."""

    matcher: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, matcher: str, options: Mapping[str, Any] | None = None) -> Choice:
        """`auto` is the fastest matcher by all that was measured; `TamisError` says what there is instead."""
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
        """The choice that a matcher was built by."""
        return cls(matcher.name, dict(matcher.given_options))

    def build(self, subscriptions: Subscriptions, schema: Schema, statistics: Statistics | None) -> Matcher:
        """The matcher of bound subscriptions."""
        kind = MATCHERS[self.matcher]
        given = {"options": kind.options.from_dict(self.options)} if self.options else {}
        built: Matcher = kind.build(subscriptions, schema, statistics, **given)
        return built


COLUMNAR: Final = Choice("columnar")
