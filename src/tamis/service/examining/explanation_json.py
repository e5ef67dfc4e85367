"""An explanation as the API answers it: long values are quoted once, alternatives as far as an answer has room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tamis.matching.explanation import MOST, Explanation, Verdict, quotes
from tamis.operators.explanation import CourseExplanation, Step
from tamis.operators.values import json_value
from tamis.schema import Schema
from tamis.schema.timestamps import to_datetime

LONGEST_ANSWER: Final = 1 << 20
"""Characters of alternatives in an answer, about."""
_SHOWN: Final = 5
_QUOTED: Final = 100  # characters that a condition quotes of an attribute, about
_FRAME: Final = 60  # characters around a condition


def explanation_json(found: Explanation, schema: Schema, *, inside: bool) -> dict[str, Any]:
    """The explanation in what JSON can say, moments as datetimes.

    What operators said when they failed may name folders and hosts: only those who may look `inside` are told.
    """
    shown = _nearest(found.alternatives)
    listing = _Listing(schema)
    answer: dict[str, Any] = {
        "matched": found.matched,
        "alternatives": [[listing.verdict(one) for one in found.alternatives[place]] for place in shown],
        "omitted": len(found.alternatives) - len(shown),
        "first_failure": None if found.first_failure is None else _Listing(schema).verdict(found.first_failure),
    }
    return answer | (_course(found, inside) if isinstance(found, CourseExplanation) else {})


def kind_of_failure(message: str) -> str:
    """Of what an operator said when it failed, what anybody may know: the name of the exception, or that it is late."""
    return message.partition(":")[0]


def _nearest(alternatives: Sequence[Sequence[Verdict]]) -> list[int]:
    """The places of the alternatives that an answer has room for: those nearest to a match, in their order."""
    lengths = [
        sum(_FRAME + len(one.condition) + _QUOTED * len(one.values) for one in verdicts) for verdicts in alternatives
    ]
    if sum(lengths) <= LONGEST_ANSWER:
        return list(range(len(alternatives)))
    failed = [sum(one.state != "held" for one in verdicts) for verdicts in alternatives]
    kept: list[int] = []
    left = LONGEST_ANSWER
    for place in sorted(range(len(alternatives)), key=failed.__getitem__):
        left -= lengths[place]
        if left < 0 and kept:
            break
        kept.append(place)
    return sorted(kept)


class _Listing:
    """Verdicts one after another: each attribute's values are cut, and long ones given with its first condition."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._quotes: dict[str, tuple[list[Any], list[Any]]] = {}
        self._seen: set[str] = set()

    def verdict(self, one: Verdict) -> dict[str, Any]:
        values = {name: self._quoted(name, given) for name, given in one.values.items()}
        self._seen.update(values)
        return {"condition": one.condition, "state": one.state, "values": values}

    def _quoted(self, name: str, given: list[Any]) -> list[Any]:
        # What variables are bound to is another thing with each call.
        if name.startswith("?"):
            return quotes(list(map(json_value, given)))[1]
        if name not in self._quotes:
            # Moments are microseconds to the language, and dates to people. Those after the first few are counted only.
            known = self._schema.attributes.get(name)
            moments = known is not None and known.domain.kind == "timestamp"
            read = map(to_datetime if moments else json_value, given[:MOST])
            self._quotes[name] = quotes([*read, *given[MOST:]])
        return self._quotes[name][name in self._seen]


def _course(found: CourseExplanation, inside: bool) -> dict[str, Any]:
    return {
        "steps": [_step(step, inside) for step in found.steps],
        "in_question": found.in_question,
        "bindings": None if found.variables is None else _bound(found.variables),
        "substitutions": found.substitutions,
    }


def _step(step: Step, inside: bool) -> dict[str, Any]:
    return {
        "predicate": step.predicate,
        "truth": step.truth,
        "bindings": [_bound(one) for one in step.bindings[:_SHOWN]],
        "failure": step.failure if inside else kind_of_failure(step.failure),
        "milliseconds": step.milliseconds,
        "eliminated": step.eliminated,
    }


def _bound(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {name: quotes([json_value(value)])[0][0] for name, value in variables.items()}
