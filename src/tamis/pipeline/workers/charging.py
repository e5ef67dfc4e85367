"""What slow conditions of subscriptions cost, told to the driver while a batch is under way, and what it decides.

A desk is a folder that workers and the driver see. Each worker writes what each subscription has taken since the worker
began to a file of its own; the driver writes the subscriptions that are left out of the batch under way. So a batch
need not be over, or given up, before whoever holds it up is dropped from it.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from tamis.engine import Index
from tamis.matching.levels.holders import Holders, holders_of
from tamis.matching.levels.level import Level
from tamis.matching.levels.matcher import LevelledMatcher
from tamis.matching.patterns import PatternSet
from tamis.matching.patterns.metering import Mask, Numbers, Seconds

LEFT_OUT: Final = "left_out.json"
_TAKEN: Final = "taken"
_TICK: Final = 0.2  # seconds charged between two looks at the desk

# What this process has taken since it began, by desk and subscription.
_LIFE: Final = uuid.uuid4().hex
_taken: dict[str, dict[str, float]] = {}


class Charging:
    """The meter of one match with one index: charges the holders of a pattern, in equal parts, with what it took."""

    def __init__(self, index: Index, desk: str) -> None:
        self._levels: list[Level] = list(index.matcher.levels) if isinstance(index.matcher, LevelledMatcher) else []
        self._desk = Path(desk)
        self._taken = _taken.setdefault(desk, {})
        self._untold = 0.0
        self._left_out = read_left_out(self._desk)
        self._sets: dict[int, _Set | None] = {}

    def took(self, patterns: PatternSet, numbers: Numbers, seconds: Seconds) -> None:
        found = self._set(patterns)
        if found is None:
            return
        for id, took in found.charges(numbers, seconds).items():
            self._taken[id] = self._taken.get(id, 0.0) + took
        self._untold += float(seconds.sum())
        if self._untold > _TICK:
            self.tell()
            if (left_out := read_left_out(self._desk)) != self._left_out:
                self._left_out = left_out
                for one in self._sets.values():
                    if one is not None:
                        one.leave_out(left_out)

    def left_out(self, patterns: PatternSet) -> Mask | None:
        if not self._left_out:
            return None
        found = self._set(patterns)
        return None if found is None else found.mask

    def tell(self) -> None:
        """Leaves at the desk what was charged, if there is more of it than was told."""
        if self._untold:
            self._untold = 0.0
            _replace(self._desk / f"{_TAKEN}-{os.getpid()}.json", {"life": _LIFE, "seconds": self._taken})

    def _set(self, patterns: PatternSet) -> _Set | None:
        # Levels, and so their sets, live as long as the match does.
        if id(patterns) not in self._sets:
            self._sets[id(patterns)] = self._found(patterns)
        return self._sets[id(patterns)]

    def _found(self, patterns: PatternSet) -> _Set | None:
        for level in self._levels:
            if (holders := holders_of(level, patterns)) is not None:
                found = _Set(level, holders, len(patterns))
                found.leave_out(self._left_out)
                return found
        return None


class _Set:
    """The patterns of a level's attribute with their holders. `mask`: those whose holders are all left out."""

    def __init__(self, level: Level, holders: Holders, patterns: int) -> None:
        self._level = level
        self._holders = holders
        self._patterns = patterns
        self._shares = np.bincount(holders.patterns, minlength=patterns)
        self.mask: Mask | None = None

    def charges(self, numbers: Numbers, seconds: Seconds) -> dict[str, float]:
        took = np.bincount(numbers, seconds, minlength=self._patterns)
        each = took[self._holders.patterns] / self._shares[self._holders.patterns]
        charged = np.bincount(self._holders.subscriptions, each)
        payers = np.flatnonzero(charged)
        return {self._level.names.ids[int(payer)].as_py(): float(charged[payer]) for payer in payers}

    def leave_out(self, ids: frozenset[str]) -> None:
        places = [place for id in ids if (place := self._level.find(id)) is not None]
        out: npt.NDArray[np.bool_] = np.isin(self._holders.subscriptions, places)
        others = np.bincount(self._holders.patterns[~out], minlength=self._patterns)
        self.mask = (others == 0) & (self._shares > 0) if len(places) else None


def read_left_out(desk: Path) -> frozenset[str]:
    """The ids of the subscriptions that are left out of the batch under way."""
    try:
        return frozenset(json.loads((desk / LEFT_OUT).read_bytes()))
    except FileNotFoundError:
        return frozenset()


def write_left_out(desk: Path, ids: Iterable[str]) -> None:
    """On the driver: from now on these are left out."""
    _replace(desk / LEFT_OUT, sorted(ids))


class Desk:
    """The driver's end: what workers have taken since it was asked last."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, dict[str, float]] = {}

    def taken(self) -> dict[str, float]:
        """Seconds by subscription."""
        more: dict[str, float] = {}
        for path in self._folder.glob(f"{_TAKEN}-*.json"):
            told = json.loads(path.read_bytes())
            before = self._known.get(told["life"], {})
            self._known[told["life"]] = told["seconds"]
            for id, seconds in told["seconds"].items():
                if seconds > before.get(id, 0.0):
                    more[id] = more.get(id, 0.0) + seconds - before.get(id, 0.0)
        return more


def _replace(path: Path, content: list[str] | Mapping[str, object]) -> None:
    """Readers see the old content or the new. A crash of the machine may lose both: they are about one batch."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(content))
    draft.replace(path)
