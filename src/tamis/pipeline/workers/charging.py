"""Charging of slow conditions to subscriptions, told to the driver while a batch is under way, and what it decides.

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

from tamis.arrays import Bools, Floats, Int32s
from tamis.engine import Index
from tamis.errors import PipelineError
from tamis.joins.server import JoinServer
from tamis.matching.codes.holders import Holders
from tamis.matching.patterns import PatternSet

LEFT_OUT: Final = "left_out.json"
_TAKEN: Final = "taken"
_TICK: Final = 0.2  # seconds charged between two looks at the desk

# What this process has taken since it began, by desk and subscription.
_LIFE: Final = uuid.uuid4().hex
_taken: dict[str, dict[str, float]] = {}


class Charging:
    """The meter of one match with one index: charges the holders of a pattern, in equal parts, with what it took.

    Or of the contents that a server of joins works out.
    """

    def __init__(self, index: Index | JoinServer, desk: str) -> None:
        if isinstance(index, Index) and not index.matcher.tells_holders:
            raise PipelineError(
                f"the matcher {index.matcher.name!r} does not tell whose slow patterns take how long, so nobody can be "
                "charged for them; compile the subscriptions with another, such as 'columnar'"
            )
        self._index = index
        self._desk = Path(desk)
        self._taken = _taken.setdefault(desk, {})
        self._untold = 0.0
        self._left_out = read_left_out(self._desk)
        self._sets: dict[int, tuple[PatternSet, _Set | None]] = {}

    def took(self, patterns: PatternSet, numbers: Int32s, seconds: Floats) -> None:
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
                for _, one in self._sets.values():
                    if one is not None:
                        one.leave_out(left_out)

    def left_out(self, patterns: PatternSet) -> Bools | None:
        if not self._left_out and id(patterns) not in self._sets:
            return None
        found = self._set(patterns)
        return None if found is None else found.mask

    def tell(self) -> None:
        """Leaves at the desk what was charged, if there is more of it than was told."""
        if self._untold:
            self._untold = 0.0
            _replace(self._desk / f"{_TAKEN}-{os.getpid()}.json", {"life": _LIFE, "seconds": self._taken})

    def _set(self, patterns: PatternSet) -> _Set | None:
        known = self._sets.get(id(patterns))
        if known is None:
            holders = self._index.holders_of(patterns)
            found = None if holders is None else _Set(holders, len(patterns), self._left_out)
            # The set is kept, so that no other can come to have its id meanwhile.
            known = self._sets[id(patterns)] = patterns, found
        return known[1]


class _Set:
    """The patterns of one attribute with their holders. `mask`: those that are not run any more.

    These are the patterns whose holders are all left out, and slow ones without a holder: an index keeps the patterns
    of subscriptions that were removed for a while.
    """

    def __init__(self, holders: Holders, patterns: int, left_out: frozenset[str]) -> None:
        self._holders = holders
        self._patterns = patterns
        self._shares = np.bincount(holders.patterns, minlength=patterns)
        self._idle = np.zeros(patterns, np.bool_)
        self.mask: Bools | None = None
        self.leave_out(left_out)

    def charges(self, numbers: Int32s, seconds: Floats) -> dict[str, float]:
        took = np.bincount(numbers, seconds, minlength=self._patterns)
        idle = (took > 0) & (self._shares == 0) & ~self._idle
        if idle.any():
            self._idle |= idle
            self.mask = self._idle | (False if self.mask is None else self.mask)
        each = took[self._holders.patterns] / self._shares[self._holders.patterns]
        charged = np.bincount(self._holders.subscriptions, each)
        payers = np.flatnonzero(charged)
        return {self._holders.subscribers.id_of(int(payer)): float(charged[payer]) for payer in payers}

    def leave_out(self, ids: frozenset[str]) -> None:
        places = [place for id in ids if (place := self._holders.subscribers.find(id)) is not None]
        out: npt.NDArray[np.bool_] = np.isin(self._holders.subscriptions, places)
        others = np.bincount(self._holders.patterns[~out], minlength=self._patterns)
        mask = ((others == 0) & (self._shares > 0)) | self._idle
        self.mask = mask if mask.any() else None


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
