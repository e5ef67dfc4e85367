"""Why a subscription did or did not match: for people, one event at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tamis.language import DEFAULT_LIMITS, Filter, Limits, normalise, parse, print_filter
from tamis.language.predicates import Literal as Condition
from tamis.language.predicates import Not, attributes_of
from tamis.language.tree import Negation
from tamis.matching.naive import event_values, holds
from tamis.schema import Schema
from tamis.schema.binary import shown_bytes

State = Literal["held", "failed", "absent", "unknown", "not asked"]
"""The last two are an operator's: it could not tell, or nobody had to ask it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One condition: `absent` is a failure because the event lacks an attribute. `values` are what the event has."""

    condition: str
    state: State
    values: Mapping[str, list[Any]]

    def __str__(self) -> str:
        seen = ", ".join(f"{name} = {', '.join(map(repr, v)) if v else 'absent'}" for name, v in self.values.items())
        return f"{self.state + ' ':<7}{self.condition}" + (f"   ({seen})" if seen else "")


@dataclass(frozen=True, slots=True)
class Explanation:
    """The subscription's normal form on one event: it matches iff every condition of some alternative held."""

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


def explain(text: str, event: Mapping[str, object], schema: Schema, limits: Limits = DEFAULT_LIMITS) -> Explanation:
    """Evaluates the normal form of a filter condition by condition."""
    values = event_values(schema.to_arrow([event]), schema)[0]
    filter = normalise(parse(text, schema, limits), schema, limits, text)
    alternatives = tuple(tuple(verdict(c, values, schema) for c in conjunct) for conjunct in filter.conjuncts)
    matched = any(all(v.state == "held" for v in verdicts) for verdicts in alternatives)
    return Explanation(matched, alternatives)


def verdict(condition: Condition, values: Mapping[str, list[Any]], schema: Schema) -> Verdict:
    """What became of one plain condition."""
    leaf = condition.leaf if isinstance(condition, Not) else condition
    tree = Negation(leaf) if isinstance(condition, Not) else leaf
    about = {name: _shown(values.get(name, [])) for name in attributes_of(condition)}
    held = holds(tree, values, schema)
    state: State = "held" if held else "failed" if all(about.values()) else "absent"
    return Verdict(print_filter(Filter(((condition,),)), schema), state, about)


def _shown(values: list[Any]) -> list[Any]:
    return [shown_bytes(value) if isinstance(value, bytes) else value for value in values]
