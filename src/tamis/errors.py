"""Exceptions of Tamis, one tree under `TamisError`: each says what was wrong, where, and what would be right; and
values shortened (`shown`) for their messages.

The positional arguments of a constructor are its `args`, so errors survive pickling on
their way back from a worker process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal

Rule = Literal["R1", "R2", "R3", "domain", "form", "table"]

_SHOWN_VIOLATIONS = 5
_SHOWN_TEXT = 100


class TamisError(Exception):
    """Base class of all errors that Tamis raises on purpose."""


class SchemaError(TamisError):
    """A schema, or an extension of one, that cannot be accepted. `place` is the path into the schema's dict form."""

    def __init__(self, message: str, place: str = "", remedy: str = "") -> None:
        super().__init__(message, place, remedy)
        self.message = message
        self.place = place
        self.remedy = remedy

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.message}" + (f"; {self.remedy}" if self.remedy else "")


@dataclass(frozen=True, slots=True)
class Violation:
    """Violation of the schema by one event.

    R1, R2 and R3 are Le Subscribe's consistency rules; `domain`: a value that its attribute's domain does not have;
    `form`: a text that is no event at all, in which case `attribute` is empty or names the part at fault; `table`: a
    change that its table cannot take.
    """

    event: int
    attribute: str
    rule: Rule
    value: object
    message: str

    def __str__(self) -> str:
        return f"event {self.event}: {self.message} ({self.rule})"


class EventError(TamisError):
    """Events that break their schema. `violations` names each: event, attribute, rule and value."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__(list(violations))
        self.violations = list(violations)

    def __str__(self) -> str:
        shown = [str(violation) for violation in self.violations[:_SHOWN_VIOLATIONS]]
        left = len(self.violations) - len(shown)
        return "\n".join(shown + ([f"... and {left} more"] if left else []))


class FilterError(TamisError):
    """A filter that cannot be accepted. `text[start:end]` is the part at fault; `str()` underlines it."""

    def __init__(self, message: str, text: str = "", start: int = 0, end: int = 0) -> None:
        super().__init__(message, text, start, end)
        self.message = message
        self.text = text
        self.start = start
        self.end = end

    def __str__(self) -> str:
        if not self.text:
            return self.message
        line_start = self.text.rfind("\n", 0, self.start) + 1
        line_end = self.text.find("\n", self.start)
        line = self.text[line_start : line_end if line_end >= 0 else len(self.text)]
        column = self.start - line_start
        width = max(1, min(self.end - self.start, len(line) - column))
        if len(line) > _SHOWN_TEXT:
            # A generated filter may run to kilobytes: only the surroundings of the fault help.
            first = max(0, min(column - _SHOWN_TEXT // 3, len(line) - _SHOWN_TEXT))
            last = first + _SHOWN_TEXT
            before, after = ("..." if first else ""), ("..." if last < len(line) else "")
            line = before + line[first:last] + after
            column += len(before) - first
            width = min(width, len(line) - column)
        # A tab is as wide as the terminal likes; a space keeps the underline in place.
        line = line.replace("\t", " ")
        return f"{self.message}\n  {line}\n  {' ' * column}{'^' * width}"


class FilterSyntaxError(FilterError):
    """The text is no SQL boolean expression, or uses a part of SQL that filters do not have."""


class FilterTypeError(FilterError):
    """The text names an unknown attribute, or compares values that have no common domain."""


class FilterTooComplex(FilterError):  # noqa: N818 - reads as what happened
    """The filter's normal form is larger than the limits allow."""


class PatternError(FilterError):
    """A LIKE or RLIKE pattern that is malformed, too large, or too expensive to evaluate."""


class SubscriptionError(TamisError):
    """A subscription that cannot be added or found under its id."""


class IndexFileError(TamisError):
    """A saved index that is damaged, incomplete, or written by a newer version."""


class StatisticsError(TamisError):
    """Event statistics that do not fit the schema, or cannot be read."""


class OperatorError(TamisError):
    """An operator that cannot be declared, found or loaded, or that does not fit the schema."""


class PipelineError(TamisError):
    """Spark, Java or a connector is missing, or a pipeline was put together in a way that cannot run."""


# Values as error messages quote them.

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
