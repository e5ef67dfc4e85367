"""LIKE patterns as programs of bytes.

A program is the pattern in UTF-8 with its escapes resolved, where the two bytes that UTF-8 never uses stand for the
wildcards: ONE is a code point, ANY is any run. A run of wildcards is kept in one form, ONE…ONE or ONE…ONE ANY, so equal
patterns have equal programs.
"""

from __future__ import annotations

import re
from typing import Final

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
    """Whether finding the program's key already decides it: a plain prefix, suffix, infix or whole value."""
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
