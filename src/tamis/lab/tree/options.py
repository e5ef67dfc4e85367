"""Options of a matching tree: P1's optimisations, and the tests that are taken to be related."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias

from tamis.errors import TamisError

Related: TypeAlias = Literal["none", "ranges", "all"]
_RELATED = ("none", "ranges", "all")


@dataclass(frozen=True, slots=True)
class Options:
    """Options of growing and searching a tree (Aguilera et al., PODC 1999, §5).

    `collapse`: a node that has nothing but a *-edge is left out, so that chains of *-edges are one edge.
    `successors`: nodes are annotated with their successors (see successors.py).
    `factor`: the index attributes, single-valued ones that subscriptions rarely leave open: a tree for every
    combination of their values. A subscription that leaves one open stands in the tree of each of its values.
    `related`: which tests are known to imply others. "ranges": a range goes behind the edge of a range around it.
    "all": so do equalities, as the paper has it; an event outside the range is then spared their test, but one inside
    takes it once for each range, so this pays only where few ranges hold.
    `general`: every test is a node. Without, the tree is an equality tree with ranges, and what it cannot hold
    (negations, lists, strings by order, a second member of the same attribute) is tested at the leaves.
    """

    collapse: bool = True
    successors: bool = True
    factor: tuple[str, ...] = ()
    related: Related = "ranges"
    general: bool = False

    def __post_init__(self) -> None:
        if self.related not in _RELATED:
            raise TamisError(f"tests are related by {', '.join(_RELATED)}; there is no {self.related!r}")

    @property
    def relation(self) -> int:
        return _RELATED.index(self.related)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Options:
        """Options by name; those that are not given stay as they are. `factor` may be one name."""
        known = [field.name for field in fields(cls)]
        for name, value in form.items():
            if name not in known:
                raise TamisError(f"the tree has no option {name!r}; it has {', '.join(known)}")
            if not isinstance(value, list | tuple | str if name == "factor" else str if name == "related" else bool):
                raise TamisError(f"{value!r} is nothing that the tree's option {name!r} can be")
        named = form.get("factor", ())
        return cls(**{**form, "factor": (named,) if isinstance(named, str) else tuple(named)})
