"""Registry of join subscriptions, by id and by the number that a scheme knows them by, with their groups, filters and
texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from tamis.arrays import Bools, Int32s, Int64s
from tamis.joins.lowering import JoinGroup
from tamis.language.joins.join import Column, Signature
from tamis.matching.codes.holders import ranges

View = tuple[Signature, tuple[Column, ...] | None]
"""Form of a subscription's results: the signature of the join, and the columns shown."""
_GONE = -1
NO_FILTER: Final = -1


@dataclass(frozen=True, slots=True)
class Subscribed:
    """Entry of one subscription: its number, and its place in the group of those that were added with it."""

    number: int
    text: str
    group: JoinGroup
    place: int


@dataclass(slots=True)
class Part:
    """Group of subscriptions as added: `ids[group.rows[i]]` and `texts[group.rows[i]]` are those of entry i.

    `numbers[i]` is the number that it has now, -1 once it is gone; `there` of them are not. `filters[table][i]` is the
    number of its residual filter over the table's rows, -1 if it has none.
    """

    group: JoinGroup
    ids: pa.Array
    texts: pa.Array
    numbers: Int64s
    filters: Mapping[str, Int32s]
    there: int = field(init=False)

    def __post_init__(self) -> None:
        self.there = len(self.numbers)


class Roster:
    """All subscriptions present. A subscription costs an entry of a dict and a few numbers; texts stay in Arrow."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.views: list[View] = []
        self._parts: dict[int, Part] = {}
        self._came = 0
        self._ids: list[str] = []
        self._part = self._place = self._view = np.empty(0, np.int32)
        self._restricted: Bools = np.empty(0, np.bool_)
        self._filters: dict[str, Int32s] = {}  # by table, then by number

    def __len__(self) -> int:
        return len(self.numbers)

    def enter(self, part: Part) -> None:
        """Adds subscriptions that have their numbers."""
        group = part.group
        self._make_room(int(part.numbers.max()) + 1)
        self._parts[self._came] = part
        view = (group.signature, group.columns)
        if view not in self.views:
            self.views.append(view)
        self._part[part.numbers] = self._came
        self._place[part.numbers] = np.arange(len(group))
        self._view[part.numbers] = self.views.index(view)
        self._note_filters(part, np.arange(len(group)), part.numbers)
        self._came += 1
        ids = part.ids.take(pa.array(group.rows)).to_pylist()
        self.numbers.update(zip(ids, part.numbers.tolist(), strict=True))
        for id, number in zip(ids, part.numbers.tolist(), strict=True):
            self._ids[number] = id

    def leave(self, ids: Iterable[str]) -> None:
        for id in ids:
            number = self.numbers.pop(id)
            came = int(self._part[number])
            part = self._parts[came]
            part.numbers[self._place[number]] = _GONE
            part.there -= 1
            if not part.there:
                del self._parts[came]

    def renumber(self) -> Iterator[tuple[Part, Int64s]]:
        """Parts with the places of their present subscriptions; they get other numbers, by `enter_again`."""
        for part in self._parts.values():
            yield part, np.flatnonzero(part.numbers != _GONE)

    def enter_again(self, numbered: Iterable[tuple[Part, Int64s, Int64s]]) -> None:
        """Sets the new numbers of the given places of parts."""
        parts = {id(part): came for came, part in self._parts.items()}
        for part, places, numbers in numbered:
            kept = [self._ids[number] for number in part.numbers[places].tolist()]
            part.numbers[places] = numbers
            self.numbers.update(zip(kept, numbers.tolist(), strict=True))
            self._make_room(int(numbers.max(initial=-1)) + 1)
            self._part[numbers], self._place[numbers] = parts[id(part)], places
            self._view[numbers] = self.views.index((part.group.signature, part.group.columns))
            self._note_filters(part, places, numbers)
        for id_, number in self.numbers.items():
            self._ids[number] = id_

    def found(self, id: str) -> Subscribed:
        number = self.numbers[id]
        part, place = self.place(number)
        row = int(part.group.rows[place])
        return Subscribed(number, part.texts[row].as_py(), part.group, place)

    def find(self, id: str) -> int | None:
        """Number of a subscription that is present; None if it is not."""
        return self.numbers.get(id)

    def id_of(self, number: int) -> str:
        return self._ids[number]

    def having(self, table: str, filters: Int64s) -> tuple[Int64s, Int64s]:
        """Places in a list of residual filters over a table's rows, and beside each a subscription that has it."""
        there = np.array(sorted(self.numbers.values()), np.int64)
        own = self.filters(table, there)
        order = np.argsort(own, kind="stable")
        first = np.searchsorted(own[order], filters, side="left")
        counts = np.searchsorted(own[order], filters, side="right") - first
        return np.repeat(np.arange(len(filters)), counts), there[order][ranges(first, counts)]

    def place(self, number: int) -> tuple[Part, int]:
        """Part of a number, and its place there."""
        return self._parts[int(self._part[number])], int(self._place[number])

    def groups(self) -> list[JoinGroup]:
        return [part.group for part in self._parts.values()]

    def view_of(self, numbers: Int64s) -> Int32s:
        """Places in `views` of subscriptions by their numbers."""
        return self._view[numbers]

    def restricted(self, numbers: Int64s) -> Bools:
        """Mask of subscriptions with residual filters."""
        return self._restricted[numbers]

    def filters(self, table: str, numbers: Int64s) -> Int32s:
        """Numbers of subscriptions' residual filters over the rows of a table; -1 where they have none."""
        known = self._filters.get(table)
        return np.full(len(numbers), NO_FILTER, np.int32) if known is None else known[numbers]

    def filters_of(self, number: int) -> dict[str, int]:
        """Numbers of one subscription's residual filters, by table."""
        return {table: int(known[number]) for table, known in self._filters.items() if known[number] != NO_FILTER}

    def ids_of(self, numbers: Int64s) -> list[str]:
        ids = self._ids
        return [ids[number] for number in numbers.tolist()]

    def texts(self) -> pa.Table:
        """Ids and texts of all subscriptions."""
        ids, texts = [pa.array([], pa.large_string())], [pa.array([], pa.large_string())]
        for part in self._parts.values():
            rows = pa.array(part.group.rows[part.numbers != _GONE])
            ids.append(part.ids.take(rows).cast(pa.large_string()))
            texts.append(part.texts.take(rows).cast(pa.large_string()))
        return pa.table({"id": pa.chunked_array(ids), "filter": pa.chunked_array(texts)})

    def _make_room(self, numbers: int) -> None:
        more = max(numbers, len(self._ids) * 5 // 4) - len(self._ids)
        if numbers <= len(self._ids):
            return
        self._ids += [""] * more
        self._part, self._place, self._view = (
            np.concatenate([array, np.zeros(more, np.int32)]) for array in (self._part, self._place, self._view)
        )
        self._restricted = np.concatenate([self._restricted, np.zeros(more, np.bool_)])
        for table, known in self._filters.items():
            self._filters[table] = np.concatenate([known, np.full(more, NO_FILTER, np.int32)])

    def _note_filters(self, part: Part, places: Int64s, numbers: Int64s) -> None:
        """Notes the residual filters of subscriptions, in place of those that had their numbers before."""
        self._restricted[numbers] = bool(part.filters)
        for table in part.filters:
            if table not in self._filters:
                self._filters[table] = np.full(len(self._ids), NO_FILTER, np.int32)
        for table, known in self._filters.items():
            known[numbers] = part.filters[table][places] if table in part.filters else NO_FILTER
