"""Searching values for regular expressions with RE2: many at once, or one.

RE2 is linear in the value, but by up to microseconds a byte where an expression repeats much, and a search cannot be
interrupted. Where somebody meters, searches are timed, and whatever is slow is told from what shares a set with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

import re2

from tamis.matching.patterns.metering import Gauge

# Value → the positions of the patterns found in it, or something false.
Search: TypeAlias = Callable[[bytes], Any]

_MOST_IN_ONE_SET = 4096
_SET_MEMORY = 64 << 20
# The memory that a pattern run alone may come to use.
_ALONE_MEMORY = 1 << 20
# A shorter search is nobody's fault, however many there are: thousands of ordinary patterns cost as much.
_CHARGED = 2e-4
# Of values from this length on a set is tried on some windows first: what is slow is known before it is too late.
_LONG = 8 << 10
_WINDOWS, _WINDOW = 4, 256
# Seconds that the windows may take, and for each pattern of the set: RE2 builds states for a set that is new, too.
_SLOW_WINDOWS, _SLOW_EACH = 5e-4, 6e-5
# Seconds that a whole search may take.
_SLOW_SEARCH = 0.5


class Together:
    """Patterns compiled into as few sets as RE2 takes them, and alone where a single one is too much for a set.

    A set that proves slow, where somebody meters, is halved until what is slow is alone. That is never undone: a
    worker's sets are those of the patterns that are quick together.
    """

    def __init__(self, patterns: Sequence[str], numbers: Sequence[int]) -> None:
        self._patterns = patterns
        sets: list[tuple[Search, Sequence[int]]] = []
        alone: list[tuple[Search, int]] = []
        waiting = [numbers[i : i + _MOST_IN_ONE_SET] for i in range(0, len(numbers), _MOST_IN_ONE_SET)]
        while waiting:
            part = waiting.pop()
            try:
                sets.append((self._compiled(part), part))
            except re2.error:
                if len(part) == 1:
                    alone.append((search_alone(patterns[part[0]]), part[0]))
                else:
                    waiting += _halves(part)
        # Swapped as one: whoever matches meanwhile, in another thread, has the parts before or those after.
        self._parts = sets, alone

    @property
    def sets(self) -> list[tuple[Search, Sequence[int]]]:
        return self._parts[0]

    @property
    def alone(self) -> list[tuple[Search, int]]:
        return self._parts[1]

    def match(self, value: bytes, gauge: Gauge | None = None) -> list[int]:
        if gauge is not None:
            return self._match_metered(value, gauge)
        sets, alone = self._parts
        found = [part[i] for search, part in sets for i in search(value) or ()]
        return found + [number for search, number in alone if search(value)]

    def _match_metered(self, value: bytes, gauge: Gauge) -> list[int]:
        if any(len(part) == 1 for _, part in self.sets):
            self._part_with(lambda *_: False)
        if len(value) >= _LONG:
            windows = _windows(value)
            while self._part_with(lambda search, part: _takes_long(search, len(part), windows)):
                pass
        sets, alone = self._parts
        found: list[int] = []
        slow: list[Search] = []
        # A slow one may be left out by the time that its turn comes: those that are quick go first.
        for search, part in sets:
            began = time.perf_counter()
            found += [part[i] for i in search(value) or ()]
            if time.perf_counter() - began > _SLOW_SEARCH:
                slow.append(search)
        if slow:
            self._part_with(lambda search, _: search in slow)
        return found + search_each(((number, search) for search, number in alone), value, gauge)

    def _part_with(self, is_slow: Callable[[Search, Sequence[int]], bool]) -> bool:
        """Halves slow sets; returns False if there was none. What is by itself then is one alone."""
        sets, alone = self._parts
        kept, alone, halved = list[tuple[Search, Sequence[int]]](), list(alone), False
        for search, part in sets:
            if len(part) == 1:
                alone.append((search, part[0]))
            elif is_slow(search, part):
                kept += [(self._compiled(half), half) for half in _halves(part)]
                halved = True
            else:
                kept.append((search, part))
        self._parts = kept, alone
        return halved

    def _compiled(self, numbers: Sequence[int]) -> Search:
        return search_together([self._patterns[number] for number in numbers], _SET_MEMORY)


def search_each(searches: Iterable[tuple[int, Search]], value: bytes, gauge: Gauge) -> list[int]:
    """The numbers of the searches that find something, each told what it took; those left out are not asked."""
    found = []
    left_out = gauge.left_out()
    for number, search in searches:
        if left_out is not None and left_out[number]:
            continue
        began = time.perf_counter()
        if search(value):
            found.append(number)
        took = time.perf_counter() - began
        if took > _CHARGED:
            gauge.took_alone(number, took)
            left_out = gauge.left_out()
    return found


def search_together(patterns: Sequence[str], memory: int) -> Search:
    """Searches for all of them at once; `re2.error` where that is too much for RE2."""
    options = _options()
    options.max_mem = memory
    together = re2.Set.SearchSet(options)
    for pattern in patterns:
        together.Add(pattern)
    together.Compile()
    return cast(Search, together.Match)


def search_alone(pattern: str) -> Search:
    """Searches for one. A set of one answers in half the time, having no position to tell."""
    try:
        return search_together([pattern], _ALONE_MEMORY)
    except re2.error:
        return cast(Search, re2.compile(pattern, _options()).search)


def _takes_long(search: Search, patterns: int, windows: Sequence[bytes]) -> bool:
    began = time.thread_time()
    for window in windows:
        search(window)
    return time.thread_time() - began > _SLOW_WINDOWS + _SLOW_EACH * patterns


def _windows(value: bytes) -> list[bytes]:
    """Some windows all over a value, from its beginning to its end."""
    starts = [(len(value) - _WINDOW) * place // (_WINDOWS - 1) for place in range(_WINDOWS)]
    return [value[start : start + _WINDOW] for start in starts]


def _halves(part: Sequence[int]) -> list[Sequence[int]]:
    return [part[: len(part) // 2], part[len(part) // 2 :]]


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    return options
