"""LIKE patterns compiled to programs of bytes, and the kernels that match one against a value in linear time.

A program is the pattern in UTF-8 with its escapes resolved, where the two bytes that UTF-8 never uses stand for the
wildcards: ONE is a code point, ANY is any run. A run of wildcards is kept in one form, ONE…ONE or ONE…ONE ANY, so equal
patterns have equal programs.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from tamis.compiled import kernel

ONE: Final = 0xFE
ANY: Final = 0xFF
# In keys the same two bytes stand for the start and the end of a value, which makes anchors part of the literal.
START: Final = 0xFE
END: Final = 0xFF

_ONE, _ANY, _START, _END = bytes([ONE]), bytes([ANY]), bytes([START]), bytes([END])
_SPECIAL = re.compile(rb"\\(.)|([%_]+)", re.DOTALL)
_WILDCARDS = re.compile(rb"[\xfe\xff]+")


def program_of(pattern: str) -> bytes:
    r"""The program of a LIKE pattern. A backslash makes the next character itself; at the very end it is a backslash.

    >>> program_of(r"100\%_%")
    b'100%\xfe\xff'
    """
    return _SPECIAL.sub(_byte_code, pattern.encode())


def containing(literal: bytes) -> bytes:
    """The program that finds a literal anywhere."""
    return _ANY + literal + _ANY


def keys_of(program: bytes) -> list[bytes]:
    r"""The literals that every match contains, with START and END where they are anchored. None at all: only wildcards.

    >>> keys_of(program_of("a%b_c"))
    [b'\xfea', b'b', b'c\xff']
    """
    pieces = _WILDCARDS.split(program)
    pieces[0] = _START + pieces[0] if program[:1] not in (_ONE, _ANY) else b""
    pieces[-1] = pieces[-1] + _END if program[-1:] not in (_ONE, _ANY) else b""
    return [piece for piece in pieces if piece]


def is_one_key(program: bytes) -> bool:
    """True if finding the program's key already decides it: a plain prefix, suffix, infix or whole value."""
    return _WILDCARDS.search(program.removeprefix(_ANY).removesuffix(_ANY)) is None


def prefix_of(pattern: str) -> str | None:
    r"""The prefix, where a LIKE pattern is a literal and then %.

    >>> prefix_of(r"50\% off%")
    '50% off'
    """
    program = program_of(pattern)
    prefix = program[:-1]
    return prefix.decode() if program.endswith(_ANY) and _WILDCARDS.search(prefix) is None else None


def literal_of(pattern: str) -> str | None:
    """The only string that matches, where a LIKE pattern has no wildcard."""
    program = program_of(pattern)
    return program.decode() if _WILDCARDS.search(program) is None else None


def _byte_code(found: re.Match[bytes]) -> bytes:
    escaped, wildcards = found.groups()
    if escaped is not None:
        return escaped
    return _ONE * wildcards.count(b"_") + (_ANY if b"%" in wildcards else b"")


# Matching one LIKE program against one value in linear time, with `_` inside its pieces too. The pieces between the
# program's ANYs are as wide as they are in code points, whatever they match. The first stands where the value begins
# and the last where it ends; each other one is looked for once, leftmost, which leaves the most for those after it.

CONTINUATION_MASK, CONTINUATION = 0xC0, 0x80
_WORD = 64
_CARRY = np.uint64(63)
_ONE_BIT = np.uint64(1)
_NO_BITS = np.uint64(0)
# Comparing a piece place by place suits short values and near finds. It may take so many steps, and so many more for
# each byte passed; a piece and a value that take more are made for it, and are told apart a word of places at a time.
_NEAR = 1_024
_STEPS_A_BYTE = 8


@kernel
def after_code_point(data: Any, at: int, end: int) -> int:
    """End of the code point that starts here."""
    at += 1
    while at < end and data[at] & CONTINUATION_MASK == CONTINUATION:
        at += 1
    return at


@kernel
def holds(data: Any, start: int, end: int, programs: Any, first: int, last: int) -> tuple[bool, int]:
    """Tells if `data[start:end]` as a whole matches the program `programs[first:last]`, and counts the steps taken.

    A step is a byte compared, or a word of places moved by a byte: linear in the value for a program of bounded length.
    """
    # The piece at the beginning, byte by byte; ONE takes a whole code point.
    at, token, steps = start, first, 0
    while token < last and programs[token] != ANY:
        if at >= end or (programs[token] != ONE and programs[token] != data[at]):
            return False, steps
        at = after_code_point(data, at, end) if programs[token] == ONE else at + 1
        token += 1
        steps += 1
    if token == last:
        return at == end, steps
    # The piece at the end, from behind: its last byte first.
    while programs[last - 1] != ANY:
        last -= 1
        end -= 1
        if end < at:
            return False, steps
        if programs[last] == ONE:
            while end > at and data[end] & CONTINUATION_MASK == CONTINUATION:
                end -= 1
        elif programs[last] != data[end]:
            return False, steps
        steps += 1
    # token and last - 1 are the first ANY and the last one, or the same.
    while token < last - 1:
        # The pieces between: each at its leftmost place after the one before, which leaves the most for the rest.
        token += 1
        stop = token
        while programs[stop] != ANY:
            stop += 1
        at, taken = find_piece(data, at, end, programs, token, stop)
        steps += taken
        if at < 0:
            return False, steps
        token = stop
    return True, steps


@kernel
def find_piece(data: Any, at: int, end: int, programs: Any, first: int, stop: int) -> tuple[int, int]:
    """End of the leftmost place of a piece in `data[at:end]`, or -1; and the steps taken."""
    place, steps = at, 0
    while steps <= _NEAR + _STEPS_A_BYTE * (place - at):
        here, token = place, first
        while token < stop:
            if here >= end:  # no later place has as much behind it
                return -1, steps
            steps += 1
            code = programs[token]
            if code == ONE:
                here = after_code_point(data, here, end)
            elif code == data[here]:
                here += 1
            else:
                break
            token += 1
        if token == stop:
            return here, steps
        place = after_code_point(data, place, end)
    found, taken = find_by_words(data, place, end, programs, first, stop)
    return found, steps + taken


@kernel
def find_by_words(data: Any, at: int, end: int, programs: Any, first: int, stop: int) -> tuple[int, int]:
    """Finds by Shift-And (Baeza-Yates and Gonnet 1992): bit i of `live` says that i + 1 bytes and ONEs were taken.

    A ONE is taken by the first byte of a code point and then stays for the others, so that a piece that ends with one
    is found before the code point ends.
    """
    # `takes[byte]`: which tokens of the piece that byte satisfies, a bit each; `stays`: the ONEs among them, which
    # continuation bytes must not advance.
    words = (stop - first + _WORD - 1) // _WORD
    takes = np.zeros((256, words), np.uint64)
    stays = np.zeros(words, np.uint64)
    for i in range(stop - first):
        word, bit = i // _WORD, _ONE_BIT << np.uint64(i % _WORD)
        if programs[first + i] == ONE:
            stays[word] |= bit
        else:
            takes[programs[first + i], word] |= bit
    # ONE is taken by any byte that begins a code point.
    for byte in range(256):
        if byte & CONTINUATION_MASK != CONTINUATION:
            for word in range(words):
                takes[byte, word] |= stays[word]
    live, moved = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    last_word, last_bit = words - 1, _ONE_BIT << np.uint64((stop - first - 1) % _WORD)
    used, steps = 1, 0  # words after these have no bit set
    for here in range(at, end):
        # All places advance together: shift `live` by a token, keep the bits whose token takes this byte. Bit 0 is set
        # anew each time, since a place may begin anywhere.
        byte = data[here]
        continues = byte & CONTINUATION_MASK == CONTINUATION
        width = min(used + 1, words)
        steps += width
        moved[0] = (live[0] << _ONE_BIT | _ONE_BIT) & takes[byte, 0]
        for word in range(1, width):
            moved[word] = (live[word] << _ONE_BIT | live[word - 1] >> _CARRY) & takes[byte, word]
        if continues:
            for word in range(width):
                moved[word] |= live[word] & stays[word]
        # Only the words up to the last that has a bit are looked at: most places fail within a byte or two.
        live, moved = moved, live
        used = width
        while used > 1 and live[used - 1] == _NO_BITS:
            live[used - 1] = moved[used - 1] = _NO_BITS
            used -= 1
        if width == words and live[last_word] & last_bit != _NO_BITS:
            return after_code_point(data, here, end), steps
    return -1, steps
