"""Explanation of a match: why a subscription did or did not match one event, condition by condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from tamis.language import DEFAULT_LIMITS, Limits, normalise, parse
from tamis.language.predicates import Literal as Leaf
from tamis.matching.conditions import Condition, DistinctConditions, event_values
from tamis.schema import Schema
from tamis.schema.values import shown_bytes

State = Literal["held", "failed", "absent", "unknown", "not asked"]
"""The last two are an operator's: it could not tell, or nobody had to ask it."""


LONGEST: Final = 200  # characters of one value that are quoted
MOST: Final = 20  # values of one attribute that are quoted
_AGAIN: Final = 20  # characters of a long value that are quoted again
_NUMBER: Final = 10  # characters of a number, about


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of one condition: `absent` is a failure because the event lacks an attribute. `values` are the event's."""

    condition: str
    state: State
    values: Mapping[str, list[Any]]

    def __str__(self) -> str:
        seen = ", ".join(f"{name} = {_listed(v) if v else 'absent'}" for name, v in self.values.items())
        return f"{self.state + ' ':<7}{self.condition}" + (f"   ({seen})" if seen else "")


@dataclass(frozen=True, slots=True)
class Explanation:
    """Evaluation of a filter's normal form on one event: it matches iff every condition of some alternative held."""

    matched: bool
    alternatives: tuple[tuple[Verdict, ...], ...]

    @property
    def first_failure(self) -> Verdict | None:
        """The first condition to fail in the alternative that came furthest; None if it matched, or can never match."""
        if self.matched or not self.alternatives:
            return None
        nearest = max(self.alternatives, key=lambda verdicts: sum(v.state == "held" for v in verdicts))
        failed = [v for v in nearest if v.state != "held"]
        return next((v for v in failed if v.state != "not asked"), failed[0])

    def __str__(self) -> str:
        if not self.alternatives:
            return "no match: the filter contradicts itself, so no event can match"
        blocks = ["\n".join(f"  {v}" for v in verdicts) or "  held   TRUE" for verdicts in self.alternatives]
        first = self.first_failure
        ending = "" if first is None else f"\nfirst to fail: {first.condition}"
        return ("match" if self.matched else "no match") + "\n" + "\n or\n".join(blocks) + ending


def brief(values: Sequence[Any], longest: int = LONGEST, most: int = MOST) -> list[Any]:
    """Values of one attribute as they are quoted: the beginning of long texts, and the first of many values.

    >>> brief([1.5, "oak", "x" * 1_000])[:2], brief(["x" * 1_000])[0][-21:], brief(range(30))[-1]
    ([1.5, 'oak'], 'x… (1,000 characters)', '… and 10 more')
    """
    shown = [
        f"{value[:longest]}… ({len(value):,} characters)" if isinstance(value, str) and len(value) > longest else value
        for value in values[:most]
    ]
    return [*shown, f"… and {len(values) - most:,} more"] if len(values) > most else shown


def quotes(values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Values of one attribute as an answer quotes them the first time, and as it does from then on.

    Conditions on one attribute all met the same values. Short ones stand with each condition; of long ones later
    conditions have the beginning only, or hundreds of conditions would make hundreds of copies of them.

    >>> quotes([12.5]), quotes(["oak " * 100])[1]
    (([12.5], [12.5]), ['oak oak oak oak oak … (400 characters)'])
    """
    first = brief(values)
    length = sum(len(value) if isinstance(value, str) else _NUMBER for value in first)
    return first, first if length <= LONGEST else brief(values, _AGAIN, 1)


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, brief(values)))


def explain(text: str, event: Mapping[str, object], schema: Schema, limits: Limits = DEFAULT_LIMITS) -> Explanation:
    """Evaluates the normal form of a filter on one event, condition by condition."""
    values = event_values(schema.to_arrow([event]), schema)[0]
    filter = normalise(parse(text, schema, limits), schema, limits, text)
    verdicts = Verdicts(values, schema)
    alternatives = tuple(verdicts.of(conjunct) for conjunct in filter.conjuncts)
    matched = any(all(v.state == "held" for v in verdicts) for verdicts in alternatives)
    return Explanation(matched, alternatives)


class Verdicts:
    """Verdicts on the plain conditions of one event: each distinct condition is evaluated once.

    A normal form multiplies its clauses out: a condition may stand in hundreds of alternatives, and a few kilobytes of
    filter would be minutes of evaluation. Verdicts on one attribute share the list of its values.
    """

    def __init__(self, values: Mapping[str, list[Any]], schema: Schema) -> None:
        self._values = values
        self._conditions = DistinctConditions(schema)
        self._known: dict[int, Verdict] = {}
        self._shown: dict[str, list[Any]] = {}

    def of(self, conjunct: Iterable[Leaf]) -> tuple[Verdict, ...]:
        """Verdicts on the conditions of one alternative."""
        return tuple(self._verdict(self._conditions.of(literal)) for literal in conjunct)

    def _verdict(self, condition: Condition) -> Verdict:
        found = self._known.get(condition.number)
        if found is None:
            found = self._known[condition.number] = self._judged(condition)
        return found

    def _judged(self, condition: Condition) -> Verdict:
        about = {name: self._seen(name) for name in condition.attributes}
        held = condition.holds(*(self._values.get(name, ()) for name in condition.attributes))
        state: State = "held" if held else "failed" if all(about.values()) else "absent"
        return Verdict(condition.text, state, about)

    def _seen(self, name: str) -> list[Any]:
        if name not in self._shown:
            given = self._values.get(name, [])
            self._shown[name] = [shown_bytes(value) if isinstance(value, bytes) else value for value in given]
        return self._shown[name]
