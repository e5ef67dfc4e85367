"""Literals that a value must contain for a regular expression to be found in it.

The reading is deliberately partial: whatever is not plainly understood requires nothing, and a pattern that requires
nothing is simply run on every value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from tamis.matching.patterns.like import ANY

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
    """One of these literals occurs in every value in which the expression is found; none: nothing is known.

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
    """Reads a pattern once from left to right; `at` is the next character."""

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
        """The best of a branch's literal runs and groups."""
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
        """One character, class, group or assertion: the character if it is a literal, the choices if it is a group."""
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
    """The choices whose shortest is longer; literals too short to be worth looking for are no choice."""
    if not other or min(len(choice) for choice in other) < _SHORTEST:
        return one
    if not one:
        return other
    return max(one, other, key=lambda choices: (min(map(len, choices)), -len(choices)))
