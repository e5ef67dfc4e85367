"""Reading of plain data (YAML, JSON, dicts) with every mistake placed: what all sections of a schema's form use."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from datetime import date

from tamis.errors import SHOWN, SchemaError, shown
from tamis.schema.domains import listing


def within(place: str, key: object) -> str:
    """The path of `key` inside `place`, quoted where it would not read as a path."""
    if isinstance(key, str) and len(key) <= SHOWN and key.isidentifier():
        return f"{place}.{key}" if place else key
    return f"{place}[{shown(key)}]"


def mapping(given: object, place: str, remedy: str) -> Mapping[str, object]:
    """`given`, if it is a mapping."""
    if not isinstance(given, Mapping):
        raise SchemaError(f"expected a mapping, found {_shown(given)}", place, remedy)
    return given


def sequence(given: object, place: str, remedy: str) -> list[object]:
    """`given` as a list, if it is one."""
    if not isinstance(given, list | tuple):
        raise SchemaError(f"expected a list, found {_shown(given)}", place, remedy)
    return list(given)


def text_of(given: object, place: str) -> str:
    """`given`, if it is a string of whole characters."""
    if not isinstance(given, str):
        raise SchemaError(f"expected a string, found {_shown(given)}", place, _as_text(given))
    if any("\ud800" <= character <= "\udfff" for character in given):
        raise SchemaError(f"{shown(given)} holds a lone surrogate", place, "remove it")
    return given


def _shown(given: object) -> str:
    return "nothing" if given is None else shown(given)


def _as_text(given: object) -> str:
    """Advice for what is no string and should be one. YAML has taken some words for other things."""
    if given is None:
        return "write it after the colon"
    if isinstance(given, bool):
        return "quote it, for without quotes yes, no, on and off are truth values in YAML"
    if isinstance(given, int | float | date):
        return f"quote it: '{given if isinstance(given, date) else shown(given)}'"
    return "write one text"


def name_of(given: object, place: str) -> str:
    """`given`, if it can be a name."""
    name = text_of(given, place)
    # Arrow hands column names over as C strings, which a NUL would cut short.
    if not name or "\0" in name:
        raise SchemaError("a name is not empty and holds no NUL", place, "give it another name")
    return name


def known_keys(given: Mapping[str, object], known: Iterable[str], place: str) -> None:
    """Refuses keys that mean nothing."""
    for key in given:
        if key not in known:
            raise SchemaError(f"unknown key {shown(key)}", within(place, key), f"the keys are {', '.join(known)}")


def defined(name: str, known: Collection[str], what: str, place: str) -> str:
    """`name`, if it is among the known ones."""
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        remedy = "declare it" + (f", or use one of {listing(list(known))}" if known else "")
        if close:
            remedy = f"did you mean {shown(close[0])}?"
        raise SchemaError(f"{what} {shown(name)} is not defined", place, remedy)
    return name
