"""Values as error messages quote them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

SHOWN: Final = 80
_MOST_BITS: Final = 10_000  # of a number that is written out: more takes Python long, or it refuses


def shown(value: object, limit: int = SHOWN) -> str:
    """The beginning of the value's `repr`, always fit to be encoded; `...` stands for the rest.

    No more is written than is shown: a value of a few bytes of YAML or JSON may be millions of characters long.

    >>> shown("oak"), shown([["x"] * 1_000] * 1_000, 20), shown({"price": (1, None)})
    ("'oak'", "['x', 'x', 'x', 'x'...", "{'price': (1, None)}")
    """
    text = ""
    for piece in _pieces(value, limit):
        text += piece
        if len(text) > limit:
            text = text[:limit] + "..."
            break
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _pieces(value: Any, limit: int) -> Iterator[str]:
    """The parts of a `repr` one after the other, each of them bounded by the limit."""
    kind = type(value)
    if kind is list:
        yield from _enclosed("[", _listed(value, limit), "]")
    elif kind is tuple:
        yield from _enclosed("(", _listed(value, limit), ",)" if len(value) == 1 else ")")
    elif kind in (set, frozenset) and value:
        yield from _enclosed("{" if kind is set else "frozenset({", _listed(value, limit), "}" if kind is set else "})")
    elif kind is dict:
        yield from _enclosed("{", _members(value, limit), "}")
    elif isinstance(value, str | bytes | bytearray):
        yield repr(value[: limit + 1])
    elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
        yield "a number of thousands of digits"
    else:
        yield repr(value)


def _enclosed(opening: str, inner: Iterable[str], closing: str) -> Iterator[str]:
    yield opening
    yield from inner
    yield closing


def _listed(values: Iterable[object], limit: int) -> Iterator[str]:
    # Each has a character at least.
    for position, value in enumerate(islice(values, limit + 1)):
        if position:
            yield ", "
        yield from _pieces(value, limit)


def _members(values: Mapping[object, object], limit: int) -> Iterator[str]:
    for position, (name, value) in enumerate(islice(values.items(), limit + 1)):
        if position:
            yield ", "
        yield from _pieces(name, limit)
        yield ": "
        yield from _pieces(value, limit)
