"""The engine that production uses: frozen levels of coded subscriptions, and a small delta over them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa

from tamis.errors import IndexFileError
from tamis.language.shapes import bind
from tamis.matching.columnar.level import Level
from tamis.matching.columnar.lowering.conditions import Conditions
from tamis.matching.columnar.lowering.constants import Constants
from tamis.matching.columnar.lowering.lower import lower_into
from tamis.matching.columnar.merging import absorb
from tamis.matching.matcher import Subscriptions
from tamis.matching.matches import Matches, Part, Work
from tamis.matching.statistics import Statistics
from tamis.schema import Schema

# Small additions wait as text and become a level at the next match; larger ones become a level at once.
WAITING = 64
# A new level takes in the levels before it that are not this many times larger, so their number stays logarithmic.
GROWTH = 4
# The base is rebuilt only when the levels over it have grown to this share of it.
FOLD = 0.5
_LEVELS = "levels.json"


class ColumnarMatcher:
    """Levels of frozen, coded subscriptions; the first is the base, the later ones smaller and smaller.

    A subscription is in one level or waits in `_waiting`. A change makes a new tuple of levels and swaps it in, so a
    match, which takes the tuple once, needs no lock.
    """

    name: ClassVar[str] = "columnar"

    def __init__(self, schema: Schema, levels: Iterable[Level], statistics: Statistics | None) -> None:
        self._schema, self._statistics = schema, statistics
        self._levels = tuple(levels)
        self._waiting: dict[str, str] = {}
        self._settling = threading.Lock()

    @classmethod
    def build(cls, subscriptions: Subscriptions, schema: Schema, statistics: Statistics | None) -> Self:
        matcher = cls(schema, (), statistics)
        matcher._grow(subscriptions)
        return matcher

    def match(self, batch: pa.RecordBatch) -> Matches:
        self._settle()
        levels, work = self._levels, Work()
        parts: list[Part] = []
        for level in levels:
            parts += level.match(batch, work)
        return Matches(len(batch), parts, [level.names.ids for level in levels], work)

    def add(self, subscriptions: Subscriptions) -> None:
        if len(subscriptions.ids) <= WAITING:
            refused = {row for row, _ in subscriptions.bound.errors}
            rows = zip(subscriptions.ids.to_pylist(), subscriptions.texts.to_pylist(), strict=True)
            self._waiting |= {id: text for row, (id, text) in enumerate(rows) if row not in refused}
        else:
            self._grow(subscriptions)

    def remove(self, ids: Iterable[str]) -> None:
        for id in ids:
            if self._waiting.pop(id, None) is None:
                for level in self._levels:
                    if (number := level.find(id)) is not None:
                        level.remove(number)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and (id in self._waiting or any(v.find(id) is not None for v in self._levels))

    def __len__(self) -> int:
        return len(self._waiting) + sum(map(len, self._levels))

    def ids(self) -> pa.Array:
        self._settle()
        arrays = [level.names.ids.take(pa.array(level.present)).cast(pa.large_string()) for level in self._levels]
        return pa.chunked_array(arrays, pa.large_string()).combine_chunks()

    def text(self, id: str) -> str:
        if id in self._waiting:
            return self._waiting[id]
        for level in self._levels:
            if (number := level.find(id)) is not None:
                return level.texts[number]
        raise KeyError(id)

    def fold(self) -> None:
        """Makes one level of all: what matching wants after many changes."""
        self._settle()
        if len(self._levels) > 1 or any(level.removed for level in self._levels):
            self._levels = (self._merged(self._levels, None),)

    def save(self, folder: Path) -> None:
        self._settle()
        listed = []
        for i, level in enumerate(self._levels):
            level.save(folder / f"level-{i}.tamis")
            listed.append({"file": f"level-{i}.tamis", "removed": level.gone.tolist()})
        (folder / _LEVELS).write_text(json.dumps(listed), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path, schema: Schema, verify: bool = True) -> Self:
        try:
            listed = json.loads((folder / _LEVELS).read_text(encoding="utf-8"))
            levels = []
            for entry in listed:
                level = Level.open(folder / entry["file"], schema, verify)
                for number in entry["removed"]:
                    level.remove(number)
                levels.append(level)
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise IndexFileError(f"{folder} holds no complete index: {error}; compile it again") from error
        return cls(schema, levels, None)

    def _settle(self) -> None:
        """Turns what waits into a level."""
        if not self._waiting:
            return
        with self._settling:
            waiting = dict(self._waiting)
            if waiting:
                ids, texts = pa.array(list(waiting), pa.string()), pa.array(list(waiting.values()), pa.string())
                self._grow(Subscriptions(ids, texts, bind(texts, self._schema)))
                # Only now: whoever matches meanwhile waits for the lock instead of missing what is on its way.
                self._waiting = {}

    def _grow(self, subscriptions: Subscriptions) -> None:
        """A new level, which takes in those before it that it has caught up with."""
        levels, size = list(self._levels), len(subscriptions.ids)
        taken: list[Level] = []
        while len(levels) > 1 and len(levels[-1]) < GROWTH * size:
            taken.append(levels.pop())
            size += len(taken[-1])
        if len(levels) == 1 and size > FOLD * len(levels[0]):
            taken.append(levels.pop())
        self._levels = (*levels, self._merged(tuple(reversed(taken)), subscriptions))

    def _merged(self, levels: tuple[Level, ...], subscriptions: Subscriptions | None) -> Level:
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
        return Level.build(conditions, all_ids, all_texts, self._statistics)


def _accepted(subscriptions: Subscriptions) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    accepted = np.ones(len(subscriptions.ids), np.bool_)
    accepted[[row for row, _ in subscriptions.bound.errors]] = False
    return accepted
