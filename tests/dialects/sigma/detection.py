"""Sigma's detections evaluated directly on an event, as its specification has it: the converter is held to this.

No pySigma here: modifiers, wildcards and conditions are read anew. A field that is absent satisfies nothing, so its
negation holds; texts compare without regard to case unless `cased`; a field with several values matches if one does.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

Event = Mapping[str, Any]
Condition = tuple[Any, ...]


def matches(detections: Mapping[str, Any], condition: Condition, event: Event) -> bool:
    match condition:
        case ("is", name):
            return _detection(detections[name], event)
        case ("not", inner):
            return not matches(detections, inner, event)
        case ("and", left, right):
            return matches(detections, left, event) and matches(detections, right, event)
        case ("or", left, right):
            return matches(detections, left, event) or matches(detections, right, event)
        case ("1 of" | "all of" as quantity, prefix):
            held = [_detection(found, event) for name, found in detections.items() if name.startswith(prefix)]
            return any(held) if quantity == "1 of" else all(held)
    raise AssertionError(condition)


def text(condition: Condition) -> str:
    match condition:
        case ("is", name):
            return str(name)
        case ("not", inner):
            return f"not ({text(inner)})"
        case ("and" | "or" as word, left, right):
            return f"({text(left)}) {word} ({text(right)})"
        case (quantity, prefix):
            return f"{quantity} {prefix}*"
    raise AssertionError(condition)


def _detection(found: Any, event: Event) -> bool:
    if isinstance(found, list):
        return any(_detection(one, event) for one in found)
    return all(_item(key, value, event) for key, value in found.items())


def _item(key: str, wanted: Any, event: Event) -> bool:
    field, *modifiers = key.split("|")
    listed = wanted if isinstance(wanted, list) else [wanted]
    given = event.get(field)
    values = given if isinstance(given, list) else [] if given is None else [given]
    held = [_holds(one, modifiers, values, event) for one in listed]
    return all(held) if "all" in modifiers else any(held)


def _holds(wanted: Any, modifiers: list[str], values: list[Any], event: Event) -> bool:
    if wanted is None:
        return not values
    if "exists" in modifiers:
        return bool(values) is wanted
    if "fieldref" in modifiers:
        other = event.get(wanted)
        return other is not None and any(value == other for value in values)
    return any(_value(wanted, modifiers, value) for value in values)


def _value(wanted: Any, modifiers: list[str], value: Any) -> bool:
    for modifier in modifiers:
        if modifier in ("gt", "gte", "lt", "lte"):
            return bool(
                {"gt": value > wanted, "gte": value >= wanted, "lt": value < wanted, "lte": value <= wanted}[modifier]
            )
    if isinstance(value, bool) or (isinstance(value, int | float) and isinstance(wanted, int | float)):
        return bool(value == wanted)
    if "re" in modifiers:
        return re.search(wanted, value, re.IGNORECASE if "i" in modifiers else 0) is not None
    if "cidr" in modifiers:
        try:
            return ipaddress.ip_address(value) in ipaddress.ip_network(wanted)
        except ValueError:
            return False
    pattern = _parsed(str(wanted))
    if "contains" in modifiers or "endswith" in modifiers:
        pattern = [None, *pattern]
    if "contains" in modifiers or "startswith" in modifiers:
        pattern = [*pattern, None]
    subject = str(value)
    if "cased" not in modifiers:
        subject = subject.lower()
        pattern = [token.lower() if isinstance(token, str) else token for token in pattern]
    return _glob(pattern, subject)


def _parsed(wanted: str) -> list[Any]:
    """Characters, None for *, True for ?. A backslash escapes the two and itself, and else stands for itself."""
    tokens: list[Any] = []
    at = 0
    while at < len(wanted):
        following = wanted[at + 1 : at + 2]
        if wanted[at] == "\\" and following and following in "*?\\":
            tokens.append(following)
            at += 1
        else:
            tokens.append({"*": None, "?": True}.get(wanted[at], wanted[at]))
        at += 1
    return tokens


def _glob(tokens: list[Any], value: str) -> bool:
    if not tokens:
        return not value
    if tokens[0] is None:
        return any(_glob(tokens[1:], value[start:]) for start in range(len(value) + 1))
    return bool(value) and (tokens[0] is True or value[0] == tokens[0]) and _glob(tokens[1:], value[1:])
