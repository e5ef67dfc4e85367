"""Sets of LIKE patterns: thousands decided in one scan of a value by an automaton, with the time metered if asked."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.arrays import Arrays, Bools
from tamis.matching.patterns.automaton import Automaton
from tamis.matching.patterns.kernels import STEPS_LEFT, scan
from tamis.matching.patterns.like import ANY, ONE, is_one_key, keys_of
from tamis.matching.patterns.metering import Gauge
from tamis.matching.patterns.texts import Texts, frozen, prefixed, under

# Time of a scan, shared out among the programs that took it by the steps that each was run for.

Metering: TypeAlias = tuple[npt.NDArray[np.int64], Bools, npt.NDArray[np.int64]]

# Steps of a slice: some tenths of a second. After each it may turn out that a program is to be left out.
SLICE = 1 << 28
# Fewer steps in all, a few milliseconds, are not charged for.
FEW = 1 << 22
_NOTHING = np.zeros(0, np.int64)
_NONE = np.zeros(0, np.bool_)


class Steps:
    """Step account of one call. Without a gauge there is none, and the scan runs in one slice."""

    def __init__(self, programs: int, gauge: Gauge | None) -> None:
        self._gauge = gauge
        self._state = np.array([SLICE, -1, 0, 0], np.int64)
        self._left_out = np.zeros(programs, np.bool_) if gauge is not None else _NONE
        # Pages that are never written cost nothing.
        self._spent = np.zeros(programs, np.int64) if gauge is not None else _NOTHING
        self._began, self._row = 0.0, 0
        if gauge is not None and (mask := gauge.left_out()) is not None:
            self._left_out[:] = mask

    def begin(self) -> Metering:
        """State for the kernel; the clock runs from the first time, or since the last account."""
        if self._gauge is not None and not self._began:
            self._began = time.thread_time()
        return self._spent, self._left_out, self._state

    def account(self, texts: Texts, row: int) -> None:
        """Reports the time spent to the gauge once it is much, when the scan has stopped at a row."""
        steps = SLICE - int(self._state[STEPS_LEFT])
        if self._gauge is None or steps < FEW:
            return
        seconds = time.thread_time() - self._began
        # Beside the programs, each byte took about a step to look for keys.
        passed = slice(self._row, row + 1)
        scanned = int(np.maximum(texts.ends[passed] - texts.starts[passed], 0).sum())
        numbers = np.flatnonzero(self._spent)
        spent = self._spent[numbers]
        self._gauge.took(numbers, spent.astype(np.float64) * (seconds / (steps + scanned)))
        self._spent[numbers] = 0
        self._began, self._row = 0.0, row
        self._state[STEPS_LEFT] = SLICE
        if (mask := self._gauge.left_out()) is not None:
            self._left_out[:] = mask


class Rules(NamedTuple):
    """Rest of a program to decide once its key is found, or where it has none.

    Program n is `programs[program_offsets[n]:program_offsets[n + 1]]`, empty where finding the key decides it. Programs
    of wildcards only go by the number of code points: `least_owners[i]` wants at least `least[i]`, `length_owners[i]`
    exactly `lengths[i]`; both are sorted by that number.
    """

    programs: npt.NDArray[np.uint8]
    program_offsets: npt.NDArray[np.int64]
    least: npt.NDArray[np.int64]
    least_owners: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int64]
    length_owners: npt.NDArray[np.int32]


class Hits(NamedTuple):
    """Result of a scan: row r matches `numbers[offsets[r]:offsets[r + 1]]`, sorted; `programs_run` were run."""

    offsets: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int32]
    programs_run: int


class LikeSet:
    """Programs (see like.py), each found by the literal of it that is likely the rarest.

    Frozen once built; any number of threads match at once, each call with scratch of its own.
    """

    def __init__(self, automaton: Automaton, rules: Rules) -> None:
        self._automaton = automaton
        self._rules = rules

    @classmethod
    def build(cls, programs: Sequence[bytes]) -> LikeSet:
        keys_by_program = [keys_of(program) for program in programs]
        sharers = Counter(key for keys in keys_by_program for key in keys)
        chosen: list[bytes] = []
        owners: list[int] = []
        least: list[tuple[int, int]] = []
        lengths: list[tuple[int, int]] = []
        to_run: list[bytes] = []
        for number, (program, keys) in enumerate(zip(programs, keys_by_program, strict=True)):
            if keys:
                chosen.append(keys[0] if len(keys) == 1 else _rarest(keys, sharers, len(programs)))
                owners.append(number)
                to_run.append(b"" if is_one_key(program) else program)
            else:
                (least if program[-1] == ANY else lengths).append((program.count(ONE), number))
                to_run.append(b"")
        offsets = np.zeros(len(programs) + 1, np.int64)
        np.cumsum([len(program) for program in to_run], out=offsets[1:])
        code = np.frombuffer(b"".join(to_run), np.uint8) if offsets[-1] else np.zeros(0, np.uint8)
        rules = (code, offsets, *_columns(least), *_columns(lengths))
        automaton = Automaton.build(chosen, np.array(owners, np.int32))
        return cls(automaton, Rules(*[frozen(array) for array in rules]))

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> LikeSet:
        keys, rules = under("keys.", arrays), under("rules.", arrays)
        return cls(
            Automaton(*(frozen(keys[name]) for name in Automaton._fields)),
            Rules(*(frozen(rules[name]) for name in Rules._fields)),
        )

    def arrays(self) -> Arrays:
        return prefixed("keys.", self._automaton._asdict()) | prefixed("rules.", self._rules._asdict())

    def __len__(self) -> int:
        return len(self._rules.program_offsets) - 1

    def match(self, texts: Texts, gauge: Gauge | None = None) -> Hits:
        """Programs that each row matches; none where it is null."""
        rows, patterns = len(texts.starts), len(self)
        offsets = np.zeros(rows + 1, np.int64)
        # Pages that are never written cost nothing, so there may as well be room for one row that matches everything.
        numbers = np.empty(patterns + 2 * rows, np.int32)
        marks = np.zeros(len(self._automaton.next_key), np.int64)
        steps = Steps(patterns, gauge)
        row = programs_run = 0
        while True:
            metering = steps.begin()
            row, run = scan(texts, self._automaton, self._rules, patterns, row, marks, offsets, numbers, metering)
            steps.account(texts, row)
            programs_run += run
            used = int(offsets[row])
            if row == rows:
                return Hits(offsets, numbers[:used].copy() if 2 * used < len(numbers) else numbers[:used], programs_run)
            if used + patterns > len(numbers):
                grown = np.empty(2 * used + patterns, np.int32)
                grown[:used] = numbers[:used]
                numbers = grown


def _rarest(keys: Sequence[bytes], sharers: Counter[bytes], programs: int) -> bytes:
    """The key that is likely found least often: a long one, and one that few other patterns ask for.

    A literal byte is taken to be worth three bits, and values to resemble the patterns written for them.
    """
    return min(keys, key=lambda key: (8.0 ** -len(key) + (sharers[key] - 1) / programs, -len(key)))


def _columns(pairs: list[tuple[int, int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    pairs.sort()
    return np.array([count for count, _ in pairs], np.int64), np.array([owner for _, owner in pairs], np.int32)
