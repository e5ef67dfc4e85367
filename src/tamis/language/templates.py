"""Templates of filters, as prepared statements: a normal form with slots for literals, a reading for each, and a cache
of templates.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Generic, Literal, TypeAlias, TypeVar

from tamis.errors import FilterError
from tamis.language.call_rewrites import Case
from tamis.language.calls import NO_OPERATORS, Signatures
from tamis.language.comparisons import Comparisons, Known
from tamis.language.forms import CalledFilter, Filter, bound_form
from tamis.language.kernels import DECIMAL
from tamis.language.parsing import check
from tamis.language.predicates import Between, Like, Not, OneOf, Operand, Order, RLike, Slot, equals
from tamis.language.predicates import Literal as LeafLiteral
from tamis.language.tree import Conjunct, Limits, Tree
from tamis.schema import Attribute, Schema

Role: TypeAlias = Literal["value", "like", "rlike"]
Span: TypeAlias = tuple[int, int, int]
"""Start, end and kind (kernels.py) of a literal, in characters."""
T = TypeVar("T")
Maker: TypeAlias = Callable[[str, Sequence[Span], Schema, Limits, Signatures], T | None]


@dataclass(frozen=True, slots=True)
class Reading:
    """Reading of a literal as a value of its slot: its attribute, its sign, and the step added to it.

    `step` closes an open end: `x > literal` on integers is `x >= literal + 1`.
    """

    attribute: Attribute
    role: Role
    kind: int
    negative: bool
    step: int = 0


@dataclass(frozen=True, slots=True)
class Template:
    """Normal form of a shape with slots; `readings[i]` is for the shape's literal i, which is `Slot(i)`."""

    filter: Filter | CalledFilter
    readings: tuple[Reading, ...]


def make_template(
    text: str, spans: Sequence[Span], schema: Schema, limits: Limits, operators: Signatures = NO_OPERATORS
) -> Template | None:
    """Template of the shape of one text, given its literals; None if texts of this shape are parsed one by one.

    That is so where the shape itself is wrong, and where a literal is more than a value: part of an arithmetic
    expression or an escape, or of a type that its attribute does not have.
    """
    places = {start: (number, end, kind) for number, (start, end, kind) in enumerate(spans)}
    comparisons = Slotted(text, limits, places)
    try:
        filter = bound_form(check(text, schema, comparisons, operators), schema, limits, text)
    except (FilterError, NoSlot):
        return None
    readings = comparisons.readings
    if len(readings) != len(spans):
        return None
    closed: Filter | CalledFilter
    if isinstance(filter, CalledFilter):
        closed = CalledFilter(tuple(Case(all_closed(case.guard, readings), case.called) for case in filter.cases))
    else:
        closed = Filter(all_closed(filter.conjuncts, readings))
    return Template(closed, tuple(readings[number] for number in range(len(spans))))


class NoSlot(Exception):  # noqa: N818 - it is no error, and never leaves the makers of templates
    """A literal that other literals cannot stand in for."""


class Slotted(Comparisons):
    """Maker of leaves with slots for values. Only what holds for every text of the shape is checked."""

    def __init__(self, text: str, limits: Limits, literals: Mapping[int, tuple[int, int, int]]) -> None:
        super().__init__(text, limits)
        self.literals = literals
        self.readings: dict[int, Reading] = {}

    def _compare(self, attribute: Attribute, operator: str, known: Known) -> Tree:
        if attribute.domain.kind == "boolean":
            return super()._compare(attribute, operator, known)
        slot = self._slot(attribute, known)
        if operator == "=":
            return equals(attribute.name, slot)
        if attribute.domain.kind in ("enumerated", "hierarchical"):
            return Order(attribute.name, operator, slot)
        if operator in (">", ">="):
            return Between(attribute.name, slot, None, low_closed=operator == ">=")
        return Between(attribute.name, None, slot, high_closed=operator == "<=")

    def _between(self, attribute: Attribute, low: Known, high: Known) -> Tree:
        if attribute.domain.kind in ("enumerated", "hierarchical"):
            raise NoSlot
        return Between(attribute.name, self._slot(attribute, low), self._slot(attribute, high))

    def _one_of(self, attribute: Attribute, listed: Sequence[Known]) -> Tree:
        if attribute.domain.kind == "boolean":
            return super()._one_of(attribute, listed)
        slots = tuple(self._slot(attribute, known) for known in listed)
        return equals(attribute.name, *slots) if len(slots) == 1 else OneOf(attribute.name, slots)

    def _like(self, attribute: Attribute, pattern: Known, ignore_case: bool) -> Tree:
        return Like(attribute.name, self._slot(attribute, pattern, "like"), ignore_case)

    def _rlike(self, attribute: Attribute, pattern: Known) -> Tree:
        return RLike(attribute.name, self._slot(attribute, pattern, "rlike"))

    def _given(self, attribute: Attribute, known: Known) -> Operand:
        return super()._given(attribute, known) if known.kind == "boolean" else self._slot(attribute, known)

    def _slot(self, attribute: Attribute, known: Known, role: Role = "value") -> Slot:
        found = None if known.literal is None else self.literals.get(known.literal)
        if found is None or found[1] != known.end or found[0] in self.readings:
            raise NoSlot
        number, _, kind = found
        if attribute.domain.kind == "integer" and kind == DECIMAL:
            raise NoSlot
        self.readings[number] = Reading(attribute, role, kind, known.negative)
        return Slot(number)


def all_closed(conjuncts: Sequence[Conjunct], readings: dict[int, Reading]) -> tuple[Conjunct, ...]:
    return tuple(tuple(_closed(literal, readings) for literal in conjunct) for conjunct in conjuncts)


def _closed(literal: LeafLiteral, readings: dict[int, Reading]) -> LeafLiteral:
    """The literal with closed ends only, if its values have a next one: the step is taken when they are read.

    A literal stands in one place of the text, so its slot is in one leaf, however often that leaf is repeated.
    """
    if isinstance(literal, Not):
        leaf = _closed(literal.leaf, readings)
        assert not isinstance(leaf, Not)
        return Not(leaf)
    if not isinstance(literal, Between):
        return literal
    low_closed, high_closed = literal.low_closed, literal.high_closed
    if isinstance(literal.low, Slot) and not low_closed:
        low_closed = _step(literal.low, 1, readings)
    if isinstance(literal.high, Slot) and not high_closed:
        high_closed = _step(literal.high, -1, readings)
    return replace(literal, low_closed=low_closed, high_closed=high_closed)


def _step(slot: Slot, step: int, readings: dict[int, Reading]) -> bool:
    """True if the open end at this slot could be closed."""
    reading = readings[slot.number]
    if reading.attribute.domain.kind not in ("integer", "timestamp"):
        return False
    readings[slot.number] = replace(reading, step=step)
    return True


class TemplateCache(Generic[T]):
    """LRU cache of templates, by schema, limits, operators and shape; `make` makes those that are missing.

    Long shapes are not kept: a few would fill it.
    """

    def __init__(self, make: Maker[T], size: int = 4_096, longest: int = 4_096) -> None:
        self._make = make
        self._size = size
        self._longest = longest
        self._templates: OrderedDict[tuple[str, Limits, Signatures, str], T | None] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._templates)

    def template(
        self,
        shape: str,
        text: str,
        spans: Callable[[], Sequence[Span]],
        schema: Schema,
        limits: Limits,
        operators: Signatures = NO_OPERATORS,
    ) -> T | None:
        """Template of a shape of which `text`, with its literals at `spans()`, is an example."""
        key = (schema.fingerprint, limits, operators, shape)
        with self._lock:
            if key in self._templates:
                self._templates.move_to_end(key)
                return self._templates[key]
        template = self._make(text, spans(), schema, limits, operators)
        if len(shape) <= self._longest:
            with self._lock:
                self._templates[key] = template
                while len(self._templates) > self._size:
                    self._templates.popitem(last=False)
        return template


TEMPLATES = TemplateCache(make_template)
