"""Covering table: standing filters by id; roots are forwarded, covered filters stand behind a root."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from tamis.arrays import Int64s
from tamis.language.forms import Filter
from tamis.routing.standing.predicate_index import PredicateIndex, Terms
from tamis.routing.standing.rows import MOST_ASKED, YES, Related, Rows
from tamis.schema import Schema

_Key = tuple[Terms, ...]


@dataclass(frozen=True, slots=True)
class Inserted:
    """Result of an insertion: `root` if nothing covers the new filter, else `covered_by` is a root that does.

    `covers`: the roots up to now that it covers; they are no roots any more. A filter that no event matches is neither
    a root nor covered by one.
    """

    root: bool
    covered_by: str | None = None
    covers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """Result of a removal: `root` if the filter was one, and the filters that became roots."""

    root: bool
    uncovered: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class _Class:
    """Class of equal filters: `ids`, oldest first, which represents all of them.

    `parent` covers it, and is a root or has a parent itself; `behind` are the classes it is the parent of.
    """

    number: int
    key: _Key
    ids: dict[str, None]
    filter: Filter
    parent: _Class | None = None
    behind: dict[_Class, None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return next(iter(self.ids))

    @property
    def root(self) -> _Class:
        found = self
        while found.parent is not None:
            found = found.parent
        return found


class RootRows(Protocol):
    """Protocol of rows of the roots' conjunctions, and their relations to others; see `Rows`."""

    def add(self, owner: int, terms: Terms, alone: bool) -> None: ...

    def remove(self, owner: int, terms: Terms) -> None: ...

    def relate(self, terms: Terms, *, covering: bool = True, covered: bool = True, once: bool = True) -> Related: ...


class CoveringTable:
    """Standing filters by id; roots are those that no other filter covers, every other one is covered by a root.

    What the covering algorithms of Li, Hou and Jacobsen 2005, §4, keep. Of equal filters the oldest is the root. Covers
    are seen exactly among conjunctions of comparisons, `IN`, prefixes and hierarchies on single-valued attributes, and
    of two single-valued attributes compared with each other (`p >= q` over `p > q`), where it takes what is asked of
    that attribute or pair alone. Of disjunctions they are seen where each alternative is covered by one; patterns and
    several values get a closer look, but no more than `MOST_ASKED` an insertion. What is reported as a cover is one.

    Only roots are rows of the table, so the work of an insertion depends on how many roots there are on similar
    attributes. Not for several threads at once.
    """

    def __init__(self, schema: Schema, rows: Callable[[PredicateIndex], RootRows] = Rows) -> None:
        self.index = PredicateIndex(schema)
        self._rows = rows(self.index)
        self._classes: dict[_Key, _Class] = {}
        self._of: dict[str, _Class] = {}
        self._never: dict[str, Filter] = {}
        self._numbered: list[_Class | None] = []
        self._free: list[int] = []
        self._roots = 0

    def insert(self, id: str, filter: Filter) -> Inserted:
        """Inserts a filter under a new id; both directions of covering are searched in one pass."""
        if id in self:
            raise ValueError(f"{id!r} is in the table already: remove it first")
        key = self._enter(filter)
        if not key:
            self._never[id] = filter
            return Inserted(root=False)
        known = self._classes.get(key)
        if known is not None:
            self._release(key)
            known.ids[id] = None
            self._of[id] = known
            return Inserted(root=False, covered_by=known.root.name)
        new = self._new_class(key, id, filter)
        cover, covered = self._settle(new)
        if cover is not None:
            return Inserted(root=False, covered_by=cover.name)
        return Inserted(root=True, covers=tuple(each.name for each in covered))

    def remove(self, id: str) -> Removed:
        """Removes a filter; filters that it alone covered become roots."""
        if self._never.pop(id, None) is not None:
            return Removed(root=False)
        gone = self._of.pop(id)
        was_root = gone.parent is None and gone.name == id
        del gone.ids[id]
        if gone.ids:
            return Removed(was_root, (gone.name,) if was_root else ())
        self._end(gone)
        if gone.parent is not None:
            del gone.parent.behind[gone]
            for each in gone.behind:
                self._put_behind(each, gone.parent)
            return Removed(root=False)
        orphans = list(gone.behind)
        for orphan in orphans:
            orphan.parent = None
        for orphan in orphans:
            self._settle(orphan)
        return Removed(True, tuple(each.name for each in orphans if each.parent is None))

    def __contains__(self, id: object) -> bool:
        return id in self._of or id in self._never

    def __len__(self) -> int:
        return len(self._of) + len(self._never)

    def __getitem__(self, id: str) -> Filter:
        """Filter as it was inserted, or an equal one."""
        return self._never[id] if id in self._never else self._of[id].filter

    def __iter__(self) -> Iterator[str]:
        yield from self._of
        yield from self._never

    def is_root(self, id: str) -> bool:
        found = self._of.get(id)
        return found is not None and found.parent is None and found.name == id

    def covered_by(self, id: str) -> str | None:
        """Root behind which a filter stands; None if it is one, or if no event matches it."""
        if id in self._never or self.is_root(id):
            return None
        return self._of[id].root.name

    def roots(self) -> Iterator[tuple[str, Filter]]:
        """Roots: the minimal set that matches all that the standing filters match."""
        return ((each.name, each.filter) for each in self._classes.values() if each.parent is None)

    @property
    def root_count(self) -> int:
        return self._roots

    def twin(self, id: str) -> str | None:
        """Id of another, equal filter, the oldest one."""
        if id in self._never:
            return None
        return next((other for other in self._of[id].ids if other != id), None)

    def terms(self, id: str) -> Terms | None:
        """Predicates of a filter, ascending by column; None if it is no single conjunction."""
        key = self._of[id].key if id in self._of else ()
        return key[0] if len(key) == 1 else None

    def _enter(self, filter: Filter) -> _Key:
        if len(filter.conjuncts) == 1:
            only = self.index.enter(filter.conjuncts[0])
            return () if only is None else (only,)
        entered = [terms for conjunct in filter.conjuncts if (terms := self.index.enter(conjunct)) is not None]
        key = tuple(sorted(set(entered)))
        for terms in key:
            entered.remove(terms)
        self._release(tuple(entered))
        return key

    def _release(self, key: _Key) -> None:
        for terms in key:
            self.index.release(terms)

    def _new_class(self, key: _Key, id: str, filter: Filter) -> _Class:
        number = self._free.pop() if self._free else len(self._numbered)
        new = _Class(number, key, {id: None}, filter)
        if number == len(self._numbered):
            self._numbered.append(new)
        self._numbered[number] = new
        self._classes[key] = self._of[id] = new
        return new

    def _end(self, gone: _Class) -> None:
        del self._classes[gone.key]
        if gone.parent is None:
            self._leave_rows(gone)
        self._release(gone.key)
        self._numbered[gone.number] = None
        self._free.append(gone.number)

    def _settle(self, new: _Class) -> tuple[_Class | None, list[_Class]]:
        """Puts a class that has no parent behind a root, or makes it a root and puts those it covers behind it."""
        cover, covered = self._related(new)
        if cover is not None:
            self._put_behind(new, cover)
            return cover, []
        for each in covered:
            self._leave_rows(each)
            self._put_behind(each, new)
        for terms in new.key:
            self._rows.add(new.number, terms, len(new.key) == 1)
        self._roots += 1
        return None, covered

    def _leave_rows(self, root: _Class) -> None:
        for terms in root.key:
            self._rows.remove(root.number, terms)
        self._roots -= 1

    def _put_behind(self, each: _Class, parent: _Class) -> None:
        each.parent = parent
        parent.behind[each] = None

    def _related(self, new: _Class) -> tuple[_Class | None, list[_Class]]:
        """Root that covers a class, or the roots that the class covers."""
        if len(new.key) == 1:
            covering, covered = self._rows.relate(new.key[0])
            if not len(covering) and not len(covered):
                return None, []
            return self._decided(new, covering, covered)
        return self._alternatives_related(new)

    def _decided(self, new: _Class, covering: Int64s, covered: Int64s) -> tuple[_Class | None, list[_Class]]:
        asked = 0
        for number, answer in sorted(covering.tolist(), key=lambda pair: -pair[1]):
            root = self._root(number)
            if answer == YES:
                return root, []
            asked += 1
            if asked <= MOST_ASKED and self._covers(root.key, new.key):
                return root, []
        found: dict[_Class, None] = {}
        counts: dict[int, int] = {}
        for number, answer in covered.tolist():
            root = self._root(number)
            if len(root.key) > 1:
                counts[number] = counts.get(number, 0) + 1
                if counts[number] == len(root.key) and self._covers(new.key, root.key):
                    found[root] = None
                continue
            if answer != YES:
                asked += 1
                if asked > MOST_ASKED or not self._covers(new.key, root.key):
                    continue
            found[root] = None
        return None, list(found)

    def _alternatives_related(self, new: _Class) -> tuple[_Class | None, list[_Class]]:
        """Relations of a disjunction: its covers cover its first alternative, and all others."""
        covers: dict[_Class, None] = {}
        behind: dict[int, int] = {}
        for k, terms in enumerate(new.key):
            covering, covered = self._rows.relate(terms, covering=k == 0, once=False)
            if k == 0:
                covers = {self._root(number): None for number in covering[:, 0].tolist()}
            for number in covered[:, 0].tolist():
                behind[number] = behind.get(number, 0) + 1
        asked = 0
        for root in covers:
            asked += 1
            if asked <= MOST_ASKED and self._covers(root.key, new.key):
                return root, []
        found = []
        for number in behind:
            asked += 1
            if asked <= MOST_ASKED and self._covers(new.key, self._root(number).key):
                found.append(self._root(number))
        return None, found

    def _root(self, number: int) -> _Class:
        root = self._numbered[number]
        assert root is not None
        return root

    def _covers(self, weaker: _Key, stronger: _Key) -> bool:
        """True if each alternative of the one follows from an alternative of the other, predicate by predicate."""
        return all(any(self._follows(ours, theirs) for ours in weaker) for theirs in stronger)

    def _follows(self, weaker: Terms, stronger: Terms) -> bool:
        given = {self.index.column(term): term for term in stronger}
        return all(
            (theirs := given.get(self.index.column(ours))) is not None and self.index.implies(theirs, ours)
            for ours in weaker
        )
