"""Names of workloads and their parameters: finds a generator by text such as `le_subscribe(p=1)`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tamis.errors import TamisError
from tamis.workloads import exploration
from tamis.workloads.auction_lots import auctions
from tamis.workloads.papers import gryphon, gryphon_hard, le_subscribe
from tamis.workloads.stock_quotes import padres_sets
from tamis.workloads.workload import Workload

_GENERATORS: dict[str, Callable[..., Workload]] = {
    "auctions": auctions,
    "gryphon": gryphon,
    "gryphon_hard": gryphon_hard,
    "le_subscribe": le_subscribe,
    "padres_sets": padres_sets,
    "w1": exploration.w1,
    "w1p1": exploration.w1p1,
    "w2": exploration.w2,
    "w2z": exploration.w2z,
    "w3": exploration.w3,
    "w4": exploration.w4,
    "w5": exploration.w5,
    "w5s": exploration.w5s,
    "w6": exploration.w6,
    "w6a": exploration.w6a,
}
NAMES = tuple(_GENERATORS)
# Descriptions of the short names. Le Subscribe's have none: they are w1 and w1p1.
READABLE: Mapping[str, str] = {
    "selective": "w2",
    "selective_hot": "w2z",
    "many_attributes": "w3",
    "ranges": "w4",
    "thresholds": "w5",
    "selective_thresholds": "w5s",
    "hot_value": "w6",
    "few_values": "w6a",
}

_CALL = re.compile(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*")


def named(text: str) -> Callable[..., Workload]:
    """Generator of a name: a function of (subscriptions, events, seed=1), and of parameters of its own.

    Parameters may stand in the text. The workload is then called by that text.
    """
    name, texts = _read(text)
    generator = _generator(name)
    if text in _GENERATORS:
        return generator
    given = {key: _value(name, key, value) for key, value in texts.items()}
    return lambda *args, **more: replace(generator(*args, **given | more), name=text.strip())


def parameters(name: str) -> dict[str, Any]:
    """Parameters of a workload's own, with their defaults."""
    signature = inspect.signature(_generator(_read(name)[0]))
    return {p.name: p.default for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY}


def with_parameters(text: str, given: Mapping[str, str]) -> str:
    """Text of a workload with these parameters added; they come first where both have one."""
    name, texts = _read(text)
    for key, value in given.items():
        _value(name, key, value)
    every = texts | dict(given)
    return f"{name}({', '.join(f'{key}={value}' for key, value in every.items())})" if every else name


def _generator(name: str) -> Callable[..., Workload]:
    known = READABLE.get(name, name)
    if known not in _GENERATORS:
        raise TamisError(f"there is no workload {name!r}; there are {', '.join((*NAMES, *READABLE))}")
    return _GENERATORS[known]


def _read(text: str) -> tuple[str, dict[str, str]]:
    """Name, and the parameters as they were written."""
    found = _CALL.fullmatch(text)
    if found is None:
        raise TamisError(f"{text!r} names no workload; a name may be followed by parameters, as in le_subscribe(p=1)")
    terms = (term.partition("=") for term in (found[2] or "").split(",") if term.strip())
    return found[1], {key.strip(): value.strip() for key, _, value in terms}


def _value(name: str, key: str, text: str) -> Any:
    """Value of a parameter, of the type of its default."""
    known = parameters(name)
    if key not in known:
        what = f"it has {', '.join(known)}" if known else "it has none"
        raise TamisError(f"the workload {name} has no parameter {key!r}; {what}")
    kind = type(known[key])
    try:
        return {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
    except (ValueError, KeyError):
        raise TamisError(f"{key}={text}: the workload {name} takes {_KINDS[kind]} for {key}") from None


_KINDS = {bool: "true or false", int: "a whole number", float: "a number"}
