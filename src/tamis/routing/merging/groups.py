"""Filters that ask for the same but for one attribute: those that may become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tamis.routing.predicates import PredicateIndex
from tamis.routing.predicates.index import Terms

GroupKey: TypeAlias = tuple[int, Terms]
"""The column in which the filters of a group differ, and the predicates that they have in common."""


class Groups:
    """Conjunctions by the predicates that all of them have; each is in one group for each side that it may differ in.

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
        """The names in a group, each with the predicate in which it differs from the others."""
        return self._members.get(key, {})

    def change_all(self) -> None:
        """Has every group looked at again."""
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
