"""Base class of matchers over codes: a log-structured set of frozen levels, with a small delta that becomes one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import pyarrow as pa

from tamis.language import DEFAULT_LIMITS
from tamis.language.shapes import bind
from tamis.matching.base.matcher import Answer, Matches, Subscriptions, Work
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.conditions import Conditions
from tamis.matching.codes.constants import Constants
from tamis.matching.codes.files import read_arrays, write_arrays
from tamis.matching.codes.holders import Holders, absorb, holders_of
from tamis.matching.codes.level import Level
from tamis.matching.codes.lower import lower_into
from tamis.matching.patterns import PatternSet
from tamis.schema import Schema

# Small additions wait as text and become a level at the next match; larger ones become a level at once.
WAITING = 64
# A new level takes in the levels before it that are not this many times larger, so their number stays logarithmic.
GROWTH = 4
# The base is rebuilt only when the levels over it have grown to this share of it.
FOLD = 0.5
_LEVELS = "levels.tamis"

L = TypeVar("L", bound=Level)


class LevelledMatcher(Generic[L]):
    """Levels of frozen, coded subscriptions; the first is the base, the later ones smaller and smaller.

    A subscription is in one level or waits in `_waiting`. A change makes a new tuple of levels and swaps it in, so a
    match, which takes the tuple once, needs no lock. Waiting subscriptions become a level in whichever thread matches
    next: therefore all that changes `_levels`, `_waiting` or a level holds `_changing`.

    An algorithm is a subclass that says its name and its kind of level.
    """

    name: ClassVar[str]
    tells_holders: ClassVar[bool] = True
    level: type[L]
    growth: ClassVar[float] = GROWTH
    fold_at: ClassVar[float] = FOLD

    def __init__(self, schema: Schema, levels: Iterable[L], statistics: Statistics | None) -> None:
        self._schema, self._statistics = schema, statistics
        self._levels = tuple(levels)
        self._waiting: dict[str, str] = {}
        self._limits = DEFAULT_LIMITS  # under which what waits was accepted
        self._changing = threading.RLock()

    @classmethod
    def build(cls, subscriptions: Subscriptions, schema: Schema, statistics: Statistics | None) -> Self:
        matcher = cls(schema, (), statistics)
        matcher._grow(subscriptions)
        return matcher

    def match(self, batch: pa.RecordBatch) -> Matches:
        self._settle()
        work = Work()
        answers = [Answer(level.names.ids, level.match(batch, work)) for level in self._levels]
        return Matches(len(batch), answers, work)

    def add(self, subscriptions: Subscriptions) -> None:
        with self._changing:
            if len(subscriptions.ids) > WAITING:
                self._grow(subscriptions)
                return
            if subscriptions.bound.limits != self._limits:
                self._settle()
                self._limits = subscriptions.bound.limits
            refused = {row for row, _ in subscriptions.bound.errors}
            rows = zip(subscriptions.ids.to_pylist(), subscriptions.texts.to_pylist(), strict=True)
            self._waiting |= {id: text for row, (id, text) in enumerate(rows) if row not in refused}

    def remove(self, ids: Iterable[str]) -> None:
        with self._changing:
            for id in ids:
                if self._waiting.pop(id, None) is None:
                    level, number = self._place(id)
                    level.remove(number)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and (id in self._waiting or any(v.find(id) is not None for v in self._levels))

    def __len__(self) -> int:
        with self._changing:
            return len(self._waiting) + sum(map(len, self._levels))

    @property
    def levels(self) -> tuple[L, ...]:
        """Levels that the next match reads, unless a change comes first."""
        self._settle()
        return self._levels

    @property
    def bytes_held(self) -> int:
        """Bytes of memory that matching needs, without ids and texts."""
        return sum(level.bytes_held for level in self._levels)

    @property
    def given_options(self) -> Mapping[str, Any]:
        """Options of the algorithm, by name; a subclass that has some also implements `_take_options`."""
        return {}

    def _take_options(self, options: Mapping[str, Any]) -> None:
        """Takes over the options that a saved matcher was built with."""

    def holders_of(self, patterns: PatternSet) -> Holders | None:
        found = (holders_of(level, patterns) for level in self._levels)
        return next((holders for holders in found if holders is not None), None)

    def ids(self) -> pa.Array:
        with self._changing:
            arrays = [level.names.ids.take(pa.array(level.present)).cast(pa.large_string()) for level in self._levels]
            arrays.append(pa.array(list(self._waiting), pa.large_string()))
        return pa.chunked_array(arrays, pa.large_string()).combine_chunks()

    def text(self, id: str) -> str:
        if (text := self._waiting.get(id)) is not None:
            return text
        level, number = self._place(id)
        return level.texts[number]

    def fold(self) -> None:
        """Merges all levels into one: fastest to match after many changes."""
        with self._changing:
            level = self.folded()
            if self._levels != (level,):
                self._levels = (level,)

    def folded(self) -> L:
        """All subscriptions as one level, for analyses; the matcher itself stays as it is."""
        with self._changing:
            self._settle()
            if len(self._levels) == 1 and not self._levels[0].removed:
                return self._levels[0]
            return self._merged(self._levels, None)

    def save(self, folder: Path) -> None:
        with self._changing:
            self._settle()
            for i, level in enumerate(self._levels):
                level.save(folder / _file(i))
            known = None if self._statistics is None else self._statistics.to_dict()
            removed = {str(i): level.gone for i, level in enumerate(self._levels)}
            about: dict[str, Any] = {"levels": len(self._levels), "statistics": known}
            if self.given_options:
                about["options"] = dict(self.given_options)
            write_arrays(folder / _LEVELS, removed, about)

    @classmethod
    def open(cls, folder: Path, schema: Schema, verify: bool = True) -> Self:
        removed, about = read_arrays(folder / _LEVELS, verify)
        levels = []
        for i in range(about["levels"]):
            levels.append(cls.level.open(folder / _file(i), schema, verify))
            levels[-1].remove_all(removed[str(i)])
        known = about["statistics"]
        matcher = cls(schema, levels, None if known is None else Statistics.from_dict(known))
        matcher._take_options(about.get("options", {}))
        return matcher

    def _place(self, id: str) -> tuple[L, int]:
        for level in self._levels:
            if (number := level.find(id)) is not None:
                return level, number
        raise KeyError(id)

    def _settle(self) -> None:
        """Compiles the waiting additions into a level."""
        if not self._waiting:
            return
        with self._changing:
            if self._waiting:
                ids = pa.array(list(self._waiting), pa.large_string())
                texts = pa.array(list(self._waiting.values()), pa.large_string())
                self._grow(Subscriptions(ids, texts, bind(texts, self._schema, self._limits)))
                # Only now: whoever matches meanwhile waits for the lock instead of missing what is on its way.
                self._waiting = {}

    def _grow(self, subscriptions: Subscriptions) -> None:
        """Adds a level, merged with those before it that it has caught up with in size."""
        levels, size = list(self._levels), len(subscriptions.ids)
        taken: list[L] = []
        while len(levels) > 1 and len(levels[-1]) < self.growth * size:
            taken.append(levels.pop())
            size += len(taken[-1])
        if len(levels) == 1 and size > self.fold_at * len(levels[0]):
            taken.append(levels.pop())
        self._levels = (*levels, self._merged(tuple(reversed(taken)), subscriptions))

    def _merged(self, levels: tuple[L, ...], subscriptions: Subscriptions | None) -> L:
        conditions = Conditions(self._schema, Constants(self._schema))
        ids, texts, rows = [], [], 0
        for level in levels:
            some_ids, some_texts = absorb(conditions, level, rows)
            ids.append(some_ids.cast(pa.large_string()))
            texts.append(some_texts.cast(pa.large_string()))
            rows += len(some_ids)
        if subscriptions is not None:
            accepted = _accepted(subscriptions)
            lower_into(conditions, subscriptions.bound, rows + np.cumsum(accepted) - accepted)
            ids.append(subscriptions.ids.filter(pa.array(accepted)).cast(pa.large_string()))
            texts.append(subscriptions.texts.filter(pa.array(accepted)).cast(pa.large_string()))
        all_ids, all_texts = (pa.chunked_array(some, pa.large_string()).combine_chunks() for some in (ids, texts))
        return self.level.build(conditions, all_ids, all_texts, self._statistics)


def _file(level: int) -> str:
    return f"level-{level}.tamis"


def _accepted(subscriptions: Subscriptions) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    accepted = np.ones(len(subscriptions.ids), np.bool_)
    accepted[[row for row, _ in subscriptions.bound.errors]] = False
    return accepted
