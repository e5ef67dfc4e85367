"""The subscriptions of a matcher: ids, texts and cases, by number."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa


class Roster:
    """Numbers are given in order and not again; those of removed subscriptions stay empty."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._cases: list[list[int]] = []
        self._arrow = pa.array([], pa.string())

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, id: object) -> bool:
        return id in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    @property
    def given(self) -> int:
        """How many numbers there are, those of removed subscriptions too."""
        return len(self._ids)

    @property
    def names(self) -> pa.Array:
        """Ids by number, also of what was removed."""
        if len(self._arrow) < len(self._ids):
            self._arrow = pa.concat_arrays([self._arrow, pa.array(self._ids[len(self._arrow) :], pa.string())])
        return self._arrow

    def add(self, id: str, text: str) -> int:
        number = len(self._ids)
        self._numbers[id] = number
        self._ids.append(id)
        self._texts.append(text)
        self._cases.append([])
        return number

    def remove(self, id: str) -> list[int]:
        """Takes a subscription out; gives its cases."""
        number = self._numbers.pop(id)
        cases, self._cases[number], self._texts[number] = self._cases[number], [], ""
        return cases

    def own(self, subscription: int, case: int) -> None:
        """A case is one of this subscription's."""
        self._cases[subscription].append(case)

    def cases(self, id: str) -> list[int]:
        return self._cases[self._numbers[id]]

    def text(self, id: str) -> str:
        return self._texts[self._numbers[id]]
