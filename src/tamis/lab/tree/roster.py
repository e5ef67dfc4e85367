"""Roster of subscriptions: ids and texts by number, and numbers by id."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tamis.arrays import Arrays, Int32s, Int64s
from tamis.matching.codes.names import Texts

_RENEWED = 8  # when this share of the names has changed, they are gathered anew


class Roster:
    """A subscription keeps its number while it is here; numbers of those that left are given again.

    `_all` are the ids by number as they were when they were last gathered, `_changed` the numbers that are others now.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._ids: list[str | None] = []
        self._texts: list[str] = []
        self._free: list[int] = []
        self._all = pa.array([], pa.string())
        self._changed: set[int] = set()

    def __contains__(self, id: object) -> bool:
        return id in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def end(self) -> int:
        """Above all numbers."""
        return len(self._ids)

    def add(self, ids: list[str], texts: list[str]) -> Int64s:
        numbers = [self._free.pop() for _ in range(min(len(self._free), len(ids)))]
        fresh = len(ids) - len(numbers)
        numbers += range(len(self._ids), len(self._ids) + fresh)
        self._ids += [None] * fresh
        self._texts += [""] * fresh
        for number, id, text in zip(numbers, ids, texts, strict=True):
            self._numbers[id], self._ids[number], self._texts[number] = number, id, text
        self._changed.update(numbers)
        return np.array(numbers, np.int64)

    def remove(self, id: str) -> int:
        number = self._numbers.pop(id)
        self._ids[number], self._texts[number] = None, ""
        self._changed.add(number)
        self._free.append(number)
        return number

    def find(self, id: str) -> int | None:
        """The number of a subscription that is here."""
        return self._numbers.get(id)

    def id_of(self, number: int) -> str:
        """The id of a subscription that is here."""
        id = self._ids[number]
        assert id is not None
        return id

    def text(self, id: str) -> str:
        return self._texts[self._numbers[id]]

    def ids(self) -> pa.Array:
        return pa.array(list(self._numbers), pa.large_string())

    def names(self, numbers: Int32s) -> tuple[list[pa.Array], Int32s]:
        """Arrays of ids, and these numbers as positions in them, one after the other. Several threads may ask at once.

        The ids that changed have an array of their own: to gather all is much, to do so after every change too much.
        """
        changed, known = self._changed, self._all  # in this order: whoever gathers writes them in the other
        if _RENEWED * len(changed) > len(known):
            known = self._all = _strings(self._ids)
            changed = self._changed = set()
        if not changed:
            return [known], numbers
        moved = np.array(sorted(changed), np.int32)
        at = np.minimum(np.searchsorted(moved, numbers), len(moved) - 1)
        places = np.where(moved[at] == numbers, len(known) + at, numbers).astype(np.int32)
        return [known, _strings([self._ids[number] for number in moved.tolist()])], places

    def arrays(self) -> Arrays:
        ids = Texts.build(pa.array([id or "" for id in self._ids], pa.large_string())).arrays()
        texts = Texts.build(pa.array(self._texts, pa.large_string())).arrays()
        free = {"free": np.array(self._free, np.int64)}
        return free | {f"ids.{k}": v for k, v in ids.items()} | {f"texts.{k}": v for k, v in texts.items()}

    @classmethod
    def restore(cls, arrays: Arrays) -> Roster:
        roster = cls()
        parts = ({k.removeprefix(p): v for k, v in arrays.items() if k.startswith(p)} for p in ("ids.", "texts."))
        ids, texts = (Texts(part).to_arrow().to_pylist() for part in parts)
        roster._free = arrays["free"].tolist()
        gone = set(roster._free)
        roster._ids = [None if number in gone else id for number, id in enumerate(ids)]
        roster._texts = texts
        roster._numbers = {id: number for number, id in enumerate(roster._ids) if id is not None}
        roster._changed = set(roster._numbers.values())
        return roster


def _strings(ids: list[str | None]) -> pa.Array:
    try:
        return pa.array(ids, pa.string())
    except pa.ArrowInvalid:  # more than 32-bit offsets reach
        return pa.array(ids, pa.large_string())
