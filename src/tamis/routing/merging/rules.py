"""Merging rules, the groups of filters that may merge (equal but for one attribute), and the merging policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import TypeAlias

from tamis.language.extents import Extent, everything, leaf_of, united, without
from tamis.language.predicates import Leaf, OneOf, Present
from tamis.routing.covering.exact_values import settled
from tamis.routing.standing.predicate_index import PredicateIndex, Terms
from tamis.schema import Attribute


class Rules(IntFlag):
    """Sources of mergers, besides overlapping and adjacent ranges (`= 3`, `= 4`), which lose nothing.

    LISTS: values that are apart become a list, which loses nothing either. TABLE_1: a range that is open to one side
    takes in what lies beyond its bound, and with one that is open to the other side it makes any value
    (Li, Hou and Jacobsen 2005, Table 1, with the bounds closed). HULLS: any two ranges become one from the first to the
    last value. DROPPED: the predicate is left out.
    """

    PERFECT = 0
    LISTS = 1
    TABLE_1 = 2
    HULLS = 4
    DROPPED = 8


@dataclass(frozen=True, slots=True)
class Part:
    """Member of a group: its values of the attribute, and the share of events it already forwards in vain."""

    name: str
    extent: Extent
    vain: float = 0.0


@dataclass(frozen=True, slots=True)
class Merged:
    """Merger of several filters of a group: their names, its leaf on the attribute (None: no condition), and the share
    of events that it forwards and none of the original filters matches."""

    names: tuple[str, ...]
    leaf: Leaf | None
    extent: Extent
    vain: float


_LISTED = ("enumerated", "hierarchical")

Vain = Callable[[Extent], float]
"""Of how many events the attribute's value is in a set, and the other conditions of the group hold."""


def merge_group(
    parts: Sequence[Part], attribute: Attribute, rules: Rules, most: float, vain: Vain, outside: Vain
) -> list[Merged]:
    """Mergers of filters that differ in one attribute; each forwards a share of less than `most` in vain.

    Ranges that touch are joined first, for nothing. Then the cheapest join of neighbours is made, and again, as long as
    there is one. `outside`: of how many events the value is not in a set, or absent, and the other conditions hold.
    """
    if not rules & Rules.LISTS and attribute.domain.kind not in _LISTED:
        parts = [part for part in parts if len(part.extent) == 1]
    clusters = _touching(parts, most)
    if rules & (Rules.TABLE_1 | Rules.HULLS):
        clusters = _joined(clusters, attribute, bool(rules & Rules.HULLS), most, vain)
    if rules & Rules.LISTS and len(clusters) > 1:
        listed = _listed(clusters, most)
        if _expressed(listed[0].extent, attribute, rules) is not None:
            clusters = listed
    found = []
    for cluster in clusters:
        leaf = _expressed(cluster.extent, attribute, rules) if len(cluster.names) > 1 else None
        if leaf is not None:
            found.append(Merged(cluster.names, leaf, cluster.extent, cluster.vain))
    if rules & Rules.DROPPED and len(parts) > 1:
        union = united(r for cluster in clusters for r in cluster.extent)
        lost = outside(union) + sum(cluster.vain for cluster in clusters)
        if _allowed(lost, most):
            return [Merged(tuple(part.name for part in parts), None, (), lost)]
    return found


@dataclass(frozen=True, slots=True)
class _Cluster:
    names: tuple[str, ...]
    extent: Extent
    vain: float


def _touching(parts: Sequence[Part], most: float) -> list[_Cluster]:
    """Clusters joined where they overlap or are adjacent."""
    clusters: list[_Cluster] = []
    for part in sorted(parts, key=lambda part: (part.extent, part.name)):
        last = clusters[-1] if clusters else None
        touches = last is not None and part.extent[0][0] <= last.extent[-1][1]
        if last is not None and touches and _allowed(last.vain + part.vain, most):
            extent = united((*last.extent, *part.extent))
            clusters[-1] = _Cluster((*last.names, part.name), extent, last.vain + part.vain)
        else:
            clusters.append(_Cluster((part.name,), part.extent, part.vain))
    return clusters


def _joined(clusters: list[_Cluster], attribute: Attribute, any_two: bool, most: float, vain: Vain) -> list[_Cluster]:
    ((first, last),) = settled(everything(attribute), attribute)
    left = list(clusters)
    while len(left) > 1:
        choices = []
        for k in range(len(left) - 1):
            one, other = left[k], left[k + 1]
            if any_two or one.extent[0][0] == first or other.extent[-1][1] == last:
                hull = ((one.extent[0][0], other.extent[-1][1]),)
                gap = without(hull, united((*one.extent, *other.extent)))
                lost = vain(gap) + one.vain + other.vain
                if _allowed(lost, most):
                    choices.append((lost, k, hull))
        if not choices:
            break
        lost, k, hull = min(choices)
        left[k : k + 2] = [_Cluster((*left[k].names, *left[k + 1].names), hull, lost)]
    return left


def _listed(clusters: list[_Cluster], most: float) -> list[_Cluster]:
    """All clusters as one, if together they do not forward too much in vain."""
    lost = sum(cluster.vain for cluster in clusters)
    if not _allowed(lost, most):
        return clusters
    names = tuple(name for cluster in clusters for name in cluster.names)
    return [_Cluster(names, united(part for cluster in clusters for part in cluster.extent), lost)]


def _allowed(lost: float, most: float) -> bool:
    return lost < most or lost <= 0.0


def _expressed(extent: Extent, attribute: Attribute, rules: Rules) -> Leaf | None:
    """Single leaf for a set of values; lists of numbers and strings only if they are wanted."""
    leaf = leaf_of(extent, attribute)
    if isinstance(leaf, OneOf) and attribute.domain.kind not in _LISTED and not rules & Rules.LISTS:
        return None
    return Present(attribute.name) if leaf is None and extent == everything(attribute) else leaf


# Groups: filters that are equal but for one attribute, the candidates of merging.

GroupKey: TypeAlias = tuple[int, Terms]
"""The column in which the filters of a group differ, and the predicates that they have in common."""


class Groups:
    """Conjunctions grouped by their common predicates; each is in one group for each side that it may differ in.

    In diagrams, filters that differ in their topmost attribute have output nodes with the same child
    (Li, Hou and Jacobsen 2005, §5.2): so these alone are together, unless `every_side` is wanted. `changed` are the
    groups that got a member since they were last looked at.
    """

    def __init__(self, index: PredicateIndex, order: Sequence[str], every_side: bool) -> None:
        self._index, self._every_side = index, every_side
        self._ranks = {name: rank for rank, name in enumerate(order)}
        self._members: dict[GroupKey, dict[str, int]] = {}
        self._keys: dict[str, list[GroupKey]] = {}
        self.changed: dict[GroupKey, None] = {}

    def add(self, name: str, terms: Terms) -> None:
        keys = []
        for place in self._sides(terms):
            key = (self._index.column(terms[place]), terms[:place] + terms[place + 1 :])
            members = self._members.setdefault(key, {})
            members[name] = terms[place]
            if len(members) > 1:
                self.changed[key] = None
            keys.append(key)
        self._keys[name] = keys

    def remove(self, name: str) -> None:
        for key in self._keys.pop(name, ()):
            members = self._members[key]
            del members[name]
            if not members:
                del self._members[key]
                self.changed.pop(key, None)

    def members(self, key: GroupKey) -> dict[str, int]:
        """Names in a group, each with the predicate in which it differs from the others."""
        return self._members.get(key, {})

    def change_all(self) -> None:
        """Marks every group as changed, so that it is looked at again."""
        self.changed.update((key, None) for key, members in self._members.items() if len(members) > 1)

    def _sides(self, terms: Terms) -> list[int]:
        mergeable = [place for place, term in enumerate(terms) if self._index[term].said is not None]
        if self._every_side or not mergeable:
            return mergeable
        return [min(mergeable, key=lambda place: self._rank(terms[place]))]

    def _rank(self, term: int) -> tuple[int, str]:
        said = self._index[term].said
        assert said is not None
        name = said.attribute.name
        return self._ranks.get(name, len(self._ranks)), name


# Policy: when to merge, and how many false positives a merger may have.


@dataclass(frozen=True, slots=True)
class MergePolicy:
    """Conditions under which merging runs, and limits on the mergers it makes.

    It is tried after `every` changes of the table, after `period` seconds, once the table has at least `size` roots, or
    has grown to `growth` times what the last merging left; each may be left out, and the first that asks for it wins.

    `imt`, the imperfect merging threshold: a merger may forward less than this share of all events in vain; 0 allows
    what loses nothing. `order`: the attributes, from the top of the diagrams down; filters are merged that differ in
    their topmost attribute, or, with `every_side`, in any one.
    """

    imt: float = 0.0
    rules: Rules = Rules.TABLE_1
    every: int | None = 1_000
    period: float | None = None
    size: int | None = None
    growth: float | None = None
    order: Sequence[str] = ()
    every_side: bool = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.imt <= 1.0:
            raise ValueError(f"the imperfect merging threshold is a share from 0 to 1, not {self.imt}")
        if self.growth is not None and self.growth <= 1.0:
            raise ValueError(f"a table is merged when it has grown: {self.growth} is no growth")

    def asks(self, changes: int, elapsed: float, roots: int, after_last: int) -> bool:
        """True if merging is due, after this many changes and seconds, with this many roots now and after the last
        merging."""
        if not changes:
            return False
        return (
            (self.every is not None and changes >= self.every)
            or (self.period is not None and elapsed >= self.period)
            or (self.size is not None and roots >= self.size and roots > after_last)
            or (self.growth is not None and roots >= self.growth * max(1, after_last))
        )
