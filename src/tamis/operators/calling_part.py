"""The part of an index that calls operators, made anew, or opened from the folder of a saved index."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tamis.errors import IndexFileError, OperatorError
from tamis.language import Limits
from tamis.lazy_registry import loaded
from tamis.matching.base.statistics import Statistics
from tamis.matching.taking_in import bound_subscriptions
from tamis.operators.definition import Operator
from tamis.operators.matcher import OperatorMatcher
from tamis.operators.part import CALLS_FILE, CallingPart
from tamis.operators.registry import Registry, Resolved, installed, resolve
from tamis.operators.schedules import require_schedule
from tamis.schema import Schema

_ORACLE: Final = "tamis.operators.naive:NaiveOperators"  # by name: nothing but the matcher of that name needs it


def calling_part(
    operators: Iterable[Operator | str],
    schema: Schema,
    limits: Limits,
    schedule: str = "adaptive",
    matcher: str = "",
    statistics: Statistics | None = None,
) -> CallingPart:
    """A part without subscriptions yet. The oracle calls operators in its own way, whatever the schedule."""
    require_schedule(schedule)
    resolved = resolved_all(operators, schema)
    if matcher == "naive":
        oracle: CallingPart = loaded(_ORACLE)(schema, resolved, limits)
        return oracle
    return OperatorMatcher(schema, resolved, schedule, limits, statistics)


def open_calling_part(
    folder: Path,
    about: Mapping[str, Any] | None,
    operators: Iterable[Operator | str] | None,
    schema: Schema,
    limits: Limits,
) -> CallingPart | None:
    """Part that `CallingPart.save` wrote, by its description; None where there is nothing, and no operator either."""
    if about is None:
        return None if operators is None else calling_part(operators, schema, limits)
    try:
        content = (folder / CALLS_FILE).read_bytes()
        if zlib.crc32(content) != about["checksum"]:
            raise ValueError("it does not agree with its checksum")
        saved, schedule, matcher = json.loads(content), about["schedule"], "naive" if about["oracle"] else ""
    except (OSError, ValueError, KeyError) as error:
        raise IndexFileError(
            f"{folder / CALLS_FILE} cannot be read: {error}; compile and save the index anew"
        ) from error
    given = Registry([] if operators is None else operators)
    missing = [name for name in about["versions"] if name not in given]
    offered = _offered(missing)
    part = calling_part([*given.values(), *offered], schema, limits, schedule, matcher)
    _restore(part, saved["texts"], schema, limits, set(missing) - {operator.name for operator in offered})
    part.learn_again(saved["learned"])
    return part


def _restore(
    part: CallingPart, texts: Mapping[str, str], schema: Schema, limits: Limits, missing: Collection[str]
) -> None:
    new = bound_subscriptions(texts, schema, limits, part.signatures)
    if new.refused:
        id, error = new.refused[0]
        lacking = f"there is no operator {', '.join(sorted(missing))} here"
        reason = f"{lacking}; hand it over: Index.open(path, operators=[...])" if missing else error.message
        raise OperatorError(f"subscription {id} cannot be restored: {reason}")
    part.add(new)


def resolved_all(operators: Iterable[Operator | str], schema: Schema) -> dict[str, Resolved]:
    """Operators under a schema, by name."""
    return {name: resolve(operator, schema) for name, operator in Registry(operators).items()}


def _offered(names: Iterable[str]) -> list[Operator]:
    """Operators of these that installed packages offer; filters that call another will say so."""
    found = []
    for name in names:
        try:
            found.append(installed(name))
        except OperatorError:
            continue
    return found
