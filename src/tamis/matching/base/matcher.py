"""The protocol that every matching algorithm follows, from the naive loop to the columnar index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.language.shapes import Block, Bound, CalledBlock
from tamis.matching.base.matches import Matches
from tamis.matching.base.statistics import Statistics
from tamis.schema import Schema

if TYPE_CHECKING:
    from tamis.matching.codes.holders import Holders
    from tamis.matching.patterns import PatternSet

B = TypeVar("B", Block, CalledBlock)


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Subscriptions on their way into a matcher: row i has id `ids[i]` and filter `texts[i]`.

    `bound` is what the language made of the texts; the rows it refused stand in `bound.errors` and in none of its
    blocks, and a matcher leaves them out.
    """

    ids: pa.Array
    texts: pa.Array
    bound: Bound

    def only(self, rows: npt.NDArray[np.bool_]) -> Subscriptions:
        """Subscriptions that a mask keeps, which has all rows of a block or none; other rows' errors are left out."""
        place = np.cumsum(rows) - 1
        bound = self.bound
        kept = Bound(
            int(rows.sum()),
            _moved(bound.blocks, rows, place),
            _moved(bound.terms, rows, place),
            _moved(bound.called, rows, place),
            [(int(place[row]), error) for row, error in bound.errors if rows[row]],
            bound.limits,
        )
        mask = pa.array(rows)
        return Subscriptions(self.ids.filter(mask), self.texts.filter(mask), kept)


def _moved(blocks: Sequence[B], rows: npt.NDArray[np.bool_], place: npt.NDArray[np.int64]) -> list[B]:
    return [replace(block, rows=place[block.rows]) for block in blocks if rows[block.rows].all()]


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
        """Bytes of memory that matching needs: neither ids nor texts."""
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
