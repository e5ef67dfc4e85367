"""Context attributes: their names, their types, and what each of the core ones must be (CloudEvents 1.0, §3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from tamis.errors import TamisError
from tamis.quoting import shown

REQUIRED: Final = ("specversion", "id", "source", "type")
MOST_ATTRIBUTES: Final = 100
LONGEST_NAME: Final = 100
LONGEST_VALUE: Final = 16_384

_NAME: Final = re.compile(r"[a-z0-9]+", re.ASCII)
# Control characters, halves of surrogate pairs, and code points that are no characters.
_FORBIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+([ \t]*;.*)?", re.ASCII)
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+", re.ASCII)
_REFERENCE: Final = re.compile(r"\S+")


class CloudEventError(TamisError):
    """A CloudEvent that cannot be taken. `place` is the part at fault: an attribute, or a header."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message, place)
        self.message = message
        self.place = place

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def checked_attributes(given: Mapping[str, Any]) -> dict[str, str | bool | int]:
    """The attributes of one event, those that are null left out."""
    present = {name: value for name, value in given.items() if value is not None}
    for name in REQUIRED:
        if name not in present:
            _refuse("every CloudEvent has this attribute, and this one has not", name)
    if len(present) > MOST_ATTRIBUTES:
        _refuse(f"there are more than {MOST_ATTRIBUTES} attributes", "")
    for name, value in present.items():
        _check_name(name)
        _check_value(name, value)
    _check_core(present)
    return present


def _check_name(name: str) -> None:
    if _NAME.fullmatch(name) is None or len(name) > LONGEST_NAME:
        message = (
            f"no attribute can be called {shown(name, 110)}: names are lower-case letters and digits, and not long"
        )
        _refuse(message, "")


def _check_value(name: str, value: object) -> None:
    match value:
        case bool():
            return
        case int():
            if not -(1 << 31) <= value < 1 << 31:
                _refuse(f"{value} is no integer of 32 bits; send it as a string", name)
        case str():
            if len(value) > LONGEST_VALUE:
                _refuse(f"a value has at most {LONGEST_VALUE:,} characters", name)
            if _FORBIDDEN.search(value) is not None:
                _refuse("a value has no control characters, unpaired surrogates or noncharacters", name)
        case _:
            _refuse("a value is a string, an integer, true or false", name)


def _check_core(attributes: Mapping[str, Any]) -> None:
    for name, (pattern, expected) in _CORE.items():
        value = attributes.get(name)
        if value is not None and (not isinstance(value, str) or pattern.fullmatch(value) is None):
            _refuse(f"{expected} is expected here, not {shown(value, 100)}", name)


_CORE: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "specversion": (re.compile(r"1\.0"), "the version '1.0'"),
    "id": (re.compile(".+", re.DOTALL), "a string that is not empty"),
    "type": (re.compile(".+", re.DOTALL), "a string that is not empty"),
    "subject": (re.compile(".+", re.DOTALL), "a string that is not empty"),
    "source": (_REFERENCE, "a URI reference"),
    "dataschema": (_ABSOLUTE, "an absolute URI"),
    "datacontenttype": (_MEDIA_TYPE, "a media type"),
    "time": (_TIME, "a time as in RFC 3339 (2018-04-05T17:31:00Z)"),
}


def _refuse(message: str, name: str) -> NoReturn:
    raise CloudEventError(message, name)
