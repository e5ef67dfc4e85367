"""Event patterns read directly, as event-ruler's documentation describes them: the converter is held to this.

An event is flattened into fields with one value each; a test looks at one value at a time; a field passes if one of its
values passes one of its tests. `exists: false` asks that there is no such field. That fields of an array's objects must
be of one object is left out.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

Values = dict[str, list[Any]]


def flattened(event: Mapping[str, Any], prefix: str = "") -> Values:
    found: Values = {}
    for key, value in event.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Mapping):
                for name, values in flattened(item, f"{prefix}{key}.").items():
                    found.setdefault(name, []).extend(values)
            else:
                found.setdefault(prefix + key, []).append(item)
    return found


def matches(pattern: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    return _object(pattern, "", flattened(event))


def _object(pattern: Mapping[str, Any], prefix: str, values: Values) -> bool:
    for key, wanted in pattern.items():
        if key == "$or":
            if not any(_object(branch, prefix, values) for branch in wanted):
                return False
        elif isinstance(wanted, Mapping):
            if not _object(wanted, f"{prefix}{key}.", values):
                return False
        elif not _field(wanted, values.get(f"{prefix}{key}", [])):
            return False
    return True


def _field(tests: list[Any], values: list[Any]) -> bool:
    for test in tests:
        if test == {"exists": False}:
            if not values:
                return True
        elif any(_passes(test, value) for value in values):
            return True
    return False


def _passes(test: Any, value: Any) -> bool:
    if not isinstance(test, Mapping):
        return _same(test, value)
    ((kind, operand),) = test.items()
    if kind == "exists":
        return True
    if kind == "anything-but":
        return not _excluded(operand, value)
    if kind == "numeric":
        return _is_number(value) and all(
            _compared(value, operand[at], operand[at + 1]) for at in range(0, len(operand), 2)
        )
    return isinstance(value, str) and _text(kind, operand, value)


def _excluded(operand: Any, value: Any) -> bool:
    if isinstance(operand, Mapping):
        ((kind, texts),) = operand.items()
        texts = texts if isinstance(texts, list) else [texts]
        return isinstance(value, str) and any(_text(kind, text, value) for text in texts)
    listed = operand if isinstance(operand, list) else [operand]
    return any((not isinstance(one, str) and _same(one, value)) or one == value for one in listed)


def _same(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, str) and isinstance(value, str):
        address = _address(wanted)
        if address is not None:
            return _address(value) == address
    if _is_number(wanted) and _is_number(value):
        return bool(wanted == value)
    return type(wanted) is type(value) and bool(wanted == value)


def _text(kind: str, operand: Any, value: str) -> bool:
    match kind, operand:
        case "exactly", _:
            return bool(value == operand)
        case "equals-ignore-case", _:
            return _equal_without_case(operand, value)
        case "prefix", str():
            return value.startswith(operand)
        case "suffix", str():
            return value.endswith(operand)
        case "prefix", {"equals-ignore-case": text}:
            return _equal_without_case(text, value[: len(text)])
        case "suffix", {"equals-ignore-case": text}:
            return len(value) >= len(text) and _equal_without_case(text, value[len(value) - len(text) :])
        case "wildcard", _:
            return _glob(_tokens(operand), value)
        case "cidr", _:
            return _within(operand, value)
    raise AssertionError(kind)


def _equal_without_case(text: str, value: str) -> bool:
    """One character at a time: the rule's, or its upper or lower case."""
    return len(text) == len(value) and all(b in (a, a.lower(), a.upper()) for a, b in zip(text, value, strict=True))


def _tokens(pattern: str) -> list[str | None]:
    tokens: list[str | None] = []
    at = 0
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
            tokens.append(pattern[at])
        else:
            tokens.append(None if pattern[at] == "*" else pattern[at])
        at += 1
    return tokens


def _glob(tokens: list[str | None], value: str) -> bool:
    if not tokens:
        return not value
    if tokens[0] is None:
        return any(_glob(tokens[1:], value[start:]) for start in range(len(value) + 1))
    return value[:1] == tokens[0] and _glob(tokens[1:], value[1:])


def _within(cidr: str, value: str) -> bool:
    """In the network of the address given, which need not be its first."""
    base, bits = cidr.split("/")
    first, address = _address(base), _address(value)
    if first is None or address is None or first.version != address.version:
        return False
    free = first.max_prefixlen - int(bits)
    return int(first) >> free == int(address) >> free


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if ":" in text and "." in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _compared(value: Any, operator: str, wanted: Any) -> bool:
    return {"=": value == wanted, "<": value < wanted, "<=": value <= wanted, ">": value > wanted,
            ">=": value >= wanted}[operator]  # fmt: skip


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
