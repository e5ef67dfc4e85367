"""The protocol that every matching algorithm follows, from the naive loop to the columnar index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import pyarrow as pa

from tamis.language.shapes import Bound
from tamis.matching.matches import Matches
from tamis.matching.statistics import Statistics
from tamis.schema import Schema

if TYPE_CHECKING:
    from tamis.matching.levels.holders import Holders
    from tamis.matching.patterns import PatternSet


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Subscriptions on their way into a matcher: row i has id `ids[i]` and filter `texts[i]`.

    `bound` is what the language made of the texts; the rows it refused stand in `bound.errors` and in none of its
    blocks, and a matcher leaves them out.
    """

    ids: pa.Array
    texts: pa.Array
    bound: Bound


class Matcher(Protocol):
    """Finds the subscriptions an event satisfies.

    Changes are seen by the next `match`. Several threads may match at once; one thread changes at a time.
    """

    name: ClassVar[str]
    tells_holders: ClassVar[bool]
    """Whether `holders_of` is answered, so that what slow patterns cost can be charged to somebody."""

    @classmethod
    def build(cls, subscriptions: Subscriptions, schema: Schema, statistics: Statistics | None) -> Self:
        """Ids are unique (the engine sees to it)."""
        ...

    def match(self, batch: pa.RecordBatch) -> Matches:
        """`batch` is canonical (`Schema.to_arrow`)."""
        ...

    def add(self, subscriptions: Subscriptions) -> None:
        """None of the ids is present yet (the engine sees to it)."""
        ...

    def remove(self, ids: Iterable[str]) -> None:
        """All of the ids are present (the engine sees to it)."""
        ...

    def __contains__(self, id: object) -> bool: ...

    def __len__(self) -> int: ...

    @property
    def bytes_held(self) -> int:
        """What matching needs of memory: neither ids nor texts."""
        ...

    @property
    def given_options(self) -> Mapping[str, Any]:
        """The options that it was built with, by name, as JSON takes them; empty if the algorithm has none."""
        ...

    def holders_of(self, patterns: PatternSet) -> Holders | None:
        """The subscriptions that hold the patterns of a set; None if the set is not this matcher's.

        Asked by the meter of a match that is under way (`metering.Meter`), in its thread.
        """
        ...

    def ids(self) -> pa.Array:
        """The ids present, in no particular order."""
        ...

    def text(self, id: str) -> str:
        """A subscription as it was written."""
        ...

    def save(self, folder: Path) -> None:
        """Writes files into an empty folder; the engine adds what is common to all matchers."""
        ...

    @classmethod
    def open(cls, folder: Path, schema: Schema, verify: bool) -> Self: ...
