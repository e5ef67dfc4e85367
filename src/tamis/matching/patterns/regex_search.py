"""Regular expressions searched with RE2, many at once or one; and the literals that an expression requires.

RE2 is linear in the value, but by up to microseconds a byte where an expression repeats much, and a search cannot be
interrupted. Where searches are metered they are timed, and a slow expression is told from those that share its set.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import re2

from tamis.matching.patterns.like import ANY
from tamis.matching.patterns.metering import Gauge

# Value → the positions of the patterns found in it, or something false.
Search: TypeAlias = Callable[[bytes], Any]

_MOST_IN_ONE_SET = 4096
_SET_MEMORY = 64 << 20
# The memory that a pattern run alone may come to use.
_ALONE_MEMORY = 1 << 20
# A shorter search is not charged for, however many there are: thousands of ordinary patterns cost as much.
_CHARGED = 2e-4
# Of values from this length on a set is tried on some windows first: what is slow is known before it is too late.
_LONG = 8 << 10
_WINDOWS, _WINDOW = 4, 256
# Seconds that the windows may take, and for each pattern of the set: RE2 builds states for a set that is new, too.
_SLOW_WINDOWS, _SLOW_EACH = 5e-4, 6e-5
# Seconds that a whole search may take.
_SLOW_SEARCH = 0.5


class Together:
    """RE2 sets of patterns: as few sets as RE2 takes them in, and a pattern alone where it is too much for a set.

    A set that proves slow, where searches are metered, is halved until the slow patterns are alone. That is never
    undone: a worker's sets are those of the patterns that are quick together.
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
        """Halves slow sets; returns False if there was none. A set of one becomes a pattern searched alone."""
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
    """Numbers of the searches that find something, each timed and charged; those left out are not run."""
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
    """Searches for all patterns of a set at once; `re2.error` where that is too much for RE2."""
    options = _options()
    options.max_mem = memory
    together = re2.Set.SearchSet(options)
    for pattern in patterns:
        together.Add(pattern)
    together.Compile()
    return cast(Search, together.Match)


def search_alone(pattern: str) -> Search:
    """Searches for one pattern. A set of one answers in half the time, having no position to report."""
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
    """Windows spread over a value, from its beginning to its end."""
    starts = [(len(value) - _WINDOW) * place // (_WINDOWS - 1) for place in range(_WINDOWS)]
    return [value[start : start + _WINDOW] for start in starts]


def _halves(part: Sequence[int]) -> list[Sequence[int]]:
    return [part[: len(part) // 2], part[len(part) // 2 :]]


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    return options


# Literals that a value must contain for a regular expression to be found in it. The reading is deliberately partial:
# whatever is not plainly understood requires nothing, and a pattern that requires nothing is simply run on every value.

# One of these occurs in every value in which the expression is found; empty: nothing is known.
Choices: TypeAlias = tuple[str, ...]

_SHORTEST = 3
_MOST_CHOICES = 16
_DEEPEST = 40
_LITERAL_ONLY = re.compile(r"(\^?)((?:[^\\.+*?()|\[\]{}^$]|\\[^\w\s])*)(\$?)", re.ASCII | re.DOTALL)
_GROUP = re.compile(r"\((?:\?(?:P?<\w+>|[imsU-]*([:)])))?")
_IGNORES_CASE = re.compile(r"\(\?[imsU-]*i")
# A brace that does not open such a count, or a count with leading zeros, is a literal to RE2.
_REPEAT = re.compile(r"(?:[*+?]|\{(0|[1-9][0-9]*)(?:,(?:0|[1-9][0-9]*)?)?\})\??")
_UNICODE_CLASS = re.compile(r"\\[pP](?:\{\^?\w+\}|\w)")
_PERL_CLASSES = "dDsSwWbBAzC"
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class Required:
    """Literals one of which occurs in every value in which the expression is found; none: nothing is known.

    `lowered`: in the value lower-cased by `str.lower()`.
    """

    literals: Choices
    lowered: bool


def like_program_of(pattern: str) -> bytes | None:
    r"""The LIKE program of a regular expression that is a literal, perhaps after ^ or before $.

    >>> like_program_of("^ab")
    b'ab\xff'
    """
    found = _LITERAL_ONLY.fullmatch(pattern)
    if found is None:
        return None
    literal = re.sub(r"\\(.)", r"\1", found[2]).encode()
    any_run = bytes([ANY])
    program = (b"" if found[1] else any_run) + literal + (b"" if found[3] else any_run)
    return any_run if program == any_run * 2 else program


def required_literals(pattern: str) -> Required:
    """The literals of a valid RE2 pattern, one of which must occur.

    >>> required_literals("(sofa|armchair)s? [0-9]+")
    Required(literals=('sofa', 'armchair'), lowered=False)
    """
    # Lower-cased literals are right for any pattern, so it does no harm if these characters are not a flag.
    lowered = _IGNORES_CASE.search(pattern) is not None
    reader = _Reader(pattern, lowered)
    try:
        choices = reader.alternatives(0)
    except _NotUnderstoodError:
        choices = ()
    return Required(choices if reader.at == len(pattern) else (), lowered)


class _NotUnderstoodError(Exception):
    """The pattern has something in it whose extent is not certain."""


class _Reader:
    """Reader of a pattern, once from left to right; `at` is the next character."""

    def __init__(self, pattern: str, lowered: bool) -> None:
        self.pattern = pattern
        self.lowered = lowered
        self.at = 0

    def alternatives(self, depth: int) -> Choices:
        """Branches up to the end or the closing parenthesis: one choice of each branch, if each has one."""
        if depth > _DEEPEST:
            raise _NotUnderstoodError
        branches = [self.sequence(depth)]
        while self.pattern.startswith("|", self.at):
            self.at += 1
            branches.append(self.sequence(depth))
        if not all(branches):
            return ()
        choices = tuple(dict.fromkeys(choice for branch in branches for choice in branch))
        return choices if len(choices) <= _MOST_CHOICES else ()

    def sequence(self, depth: int) -> Choices:
        """Best of a branch's literal runs and groups."""
        best: Choices = ()
        run = ""
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            literal, choices = self.item(depth)
            repeat = _REPEAT.match(self.pattern, self.at)
            if repeat is None:
                if literal:
                    run += literal
                    continue
                best, run = _better(_better(best, (run,)), choices), ""
                continue
            self.at = repeat.end()
            if repeat[0][0] in "*?" or (repeat[1] is not None and int(repeat[1]) == 0):
                best, run = _better(best, (run,)), ""
            else:
                # Once at least: the first time follows what came before, the last precedes what comes after.
                best, run = _better(_better(best, (run + literal,)), choices), literal
        return _better(best, (run,))

    def item(self, depth: int) -> tuple[str, Choices]:
        """Reads one character, class, group or assertion: the character if a literal, the choices if a group."""
        character = self.pattern[self.at]
        if character == "(":
            return "", self.group(depth)
        if character == "[":
            self.skip_class()
            return "", ()
        if character == "\\":
            return self.literal(self.escape()), ()
        self.at += 1
        return ("" if character in ".^$" else self.literal(character)), ()

    def literal(self, character: str) -> str:
        """The character as it is found in the value; empty where there is no telling.

        With case ignored, RE2 takes ſ for an s, while `str.lower()` leaves it alone; outside ASCII the two differ more.
        """
        if not self.lowered:
            return character
        return character.lower() if character.isascii() and character not in "sS" else ""

    def group(self, depth: int) -> Choices:
        opening = _GROUP.match(self.pattern, self.at)
        if opening is None or (opening.end() == self.at + 1 and self.pattern.startswith("?", self.at + 1)):
            raise _NotUnderstoodError
        self.at = opening.end()
        if opening[1] == ")":
            # RE2 passes over flags to repeat what came before them, which has been read by now.
            if _REPEAT.match(self.pattern, self.at):
                raise _NotUnderstoodError
            return ()
        choices = self.alternatives(depth + 1)
        if not self.pattern.startswith(")", self.at):
            raise _NotUnderstoodError
        self.at += 1
        return choices

    def escape(self) -> str:
        """The character an escape stands for, or nothing where it stands for a class or an assertion."""
        after = self.pattern[self.at + 1 : self.at + 2]
        unicode_class = _UNICODE_CLASS.match(self.pattern, self.at)
        if unicode_class is not None:
            self.at = unicode_class.end()
            return ""
        self.at += 2
        if after in _CONTROLS:
            return _CONTROLS[after]
        if after and after in _PERL_CLASSES:
            return ""
        if after and after.isascii() and not after.isalnum():
            return after
        raise _NotUnderstoodError

    def skip_class(self) -> None:
        self.at += 1
        if self.pattern.startswith("^", self.at):
            self.at += 1
        first = self.at
        while self.at < len(self.pattern):
            if self.pattern[self.at] == "]" and self.at > first:
                self.at += 1
                return
            named_end = self.pattern.find(":]", self.at + 2) if self.pattern.startswith("[:", self.at) else -1
            if named_end >= 0:
                self.at = named_end + 2
            else:
                self.at += 2 if self.pattern[self.at] == "\\" else 1
        raise _NotUnderstoodError


def _better(one: Choices, other: Choices) -> Choices:
    """Choices whose shortest is longer; literals too short to be worth looking for are no choice."""
    if not other or min(len(choice) for choice in other) < _SHORTEST:
        return one
    if not one:
        return other
    return max(one, other, key=lambda choices: (min(map(len, choices)), -len(choices)))
