"""What can be switched in a matching tree: P1's optimisations, and which tests are taken to be related."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from tamis.errors import TamisError

Related: TypeAlias = Literal["none", "ranges", "all"]
_RELATED = ("none", "ranges", "all")


@dataclass(frozen=True, slots=True)
class Options:
    """How a tree is grown and searched (Aguilera et al., PODC 1999, §5).

    `collapse`: a node that has nothing but a *-edge is left out, so that chains of *-edges are one edge.
    `successors`: nodes are annotated with their successors (see successors.py).
    `factor`: the index attributes, single-valued ones that subscriptions rarely leave open: a tree for every
    combination of their values. A subscription that leaves one open stands in the tree of each of its values.
    `related`: which tests are known to imply others. "ranges": a range goes behind the edge of a range around it.
    "all": so do equalities, as the paper has it; an event outside the range is then spared their test, but one inside
    takes it once for each range, so this pays only where few ranges hold.
    """

    collapse: bool = True
    successors: bool = True
    factor: tuple[str, ...] = ()
    related: Related = "ranges"

    def __post_init__(self) -> None:
        if self.related not in _RELATED:
            raise TamisError(f"tests are related by {', '.join(_RELATED)}; there is no {self.related!r}")

    @property
    def relation(self) -> int:
        return _RELATED.index(self.related)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> Options:
        return cls(**{**form, "factor": tuple(form["factor"])})
