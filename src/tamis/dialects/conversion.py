"""Conversion of rules to filters: reports and errors, building blocks of filters, and the schema that rules need."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from tamis.errors import FilterError, SchemaError, TamisError
from tamis.language import DEFAULT_LIMITS, Limits, Tree, normalise, parse
from tamis.language.predicates import Between, Bounds, Leaf, Present, Value, among, equals
from tamis.language.printing import print_tree
from tamis.language.tree import FALSE, And, Negation, Or
from tamis.schema import EVENT_TYPE, Attribute, Schema
from tamis.schema.tables import name_of

R = TypeVar("R")


class ConversionError(TamisError):
    """Rule that has no filter of the same meaning, or is no rule. `place` is the path into the rule, or its text."""

    def __init__(self, reason: str, place: str = "", remedy: str = "") -> None:
        super().__init__(reason, place, remedy)
        self.reason = reason
        self.place = place
        self.remedy = remedy

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.reason}" + (f"; {self.remedy}" if self.remedy else "")


@dataclass(frozen=True, slots=True)
class Refused:
    """Rule that could not be converted, under its id."""

    id: str
    error: ConversionError


@dataclass(slots=True)
class Report:
    """Result of a conversion: `converted` maps ids to filters, `refused` has the reasons; every rule is in one of
    them."""

    converted: dict[str, str] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)


def convert_all(rules: Iterable[tuple[str, R]], convert: Callable[[R], str]) -> Report:
    """Converts each rule by itself: one that is refused, or repeats an id, does not stop the others."""
    report = Report()
    for id, rule in rules:
        if id in report.converted:
            remedy = "give each rule an id of its own"
            report.refused.append(Refused(id, ConversionError("there is a rule with this id before it", "", remedy)))
            continue
        try:
            report.converted[id] = convert(rule)
        except ConversionError as error:
            report.refused.append(Refused(id, error))
    return report


def checked(condition: Tree, schema: Schema, limits: Limits = DEFAULT_LIMITS) -> str:
    """Text of the condition, if schema and limits accept it; `ConversionError` with their reason if not."""
    text = print_tree(condition, schema)
    try:
        tree = parse(text, schema, limits)
        # The normal form costs more than all the rest, and few filters come near its limit.
        if (most := alternatives(tree)) > limits.conjuncts or most * len(text) > limits.text:
            normalise(tree, schema, limits)
    except FilterError as error:
        part = error.text[error.start : error.end]
        raise ConversionError(error.message, part if len(part) <= 80 else part[:77] + "...") from error
    return text


def alternatives(tree: Tree, wanted: bool = True) -> int:
    """Upper bound of the conjuncts in a filter's normal form."""
    match tree:
        case Negation(item):
            return alternatives(item, not wanted)
        case And(items) | Or(items):
            counts = [alternatives(item, wanted) for item in items]
            return math.prod(counts) if isinstance(tree, And) == wanted else sum(counts)
    return 1


def compared(attribute: str, operator: str, value: Value) -> Leaf:
    """Leaf `attribute operator value` for =, <, <=, > and >=."""
    ends = Bounds.of(operator, value)
    return Between(attribute, ends.low, ends.high, ends.low_closed, ends.high_closed)


def one_of(attribute: str, values: Iterable[Value]) -> Tree:
    """Condition `attribute IN (values)`, or FALSE where there are none."""
    listed = list(values)
    return among(attribute, listed) if listed else FALSE


def between(attribute: str, low: int | float, high: int | float) -> Tree:
    """Condition `attribute BETWEEN low AND high`: one value lies within both ends; an infinite end is left out."""
    if low > high:
        return FALSE
    if low == high:
        return equals(attribute, low)
    first, last = None if low == -math.inf else low, None if high == math.inf else high
    return Present(attribute) if first is None and last is None else Between(attribute, first, last)


def attribute_of(name: str, schema: Schema, place: str) -> Attribute:
    """Attribute that a rule's field stands for."""
    if name == EVENT_TYPE:
        # With it, a rule would ask for a type that no event is of, and be silent for ever.
        reason = f"{EVENT_TYPE} is what Tamis calls the types that an event is of, and no field of other systems"
        raise ConversionError(reason, place, "give the field another name, in rules and events")
    found = schema.attributes.get(name)
    if found is None:
        remedy = "extend the schema by it; tamis convert --propose-schema writes one that has all that the rules need"
        raise ConversionError(f"the schema has no attribute {name}", place, remedy)
    return found


# Needed attributes: those that rules ask for, and a schema that has them.

_PREFERRED = ("string", "float", "boolean")
_EXACT = 1 << 53
"""Beyond this, doubles do not hold every whole number."""
_LONG = 1 << 63


@dataclass(slots=True)
class Need:
    """Count of rules that ask for an attribute in each domain; `multiple`: its values are known to come as arrays.

    A rule that only asks whether the attribute is there asks for no domain. Numbers are asked for as `float`; `wide`
    says that a rule names a whole number that only an integer attribute is sure to hold, `fractional` that one names a
    number that no integer attribute holds.
    """

    asked: dict[str, int] = field(default_factory=dict)
    multiple: bool = False
    wide: bool = False
    fractional: bool = False

    @property
    def domain(self) -> str:
        """Domain most rules ask for; the others are refused where they compare it, with that as the reason."""
        most = max(_PREFERRED, key=lambda domain: (self.asked.get(domain, 0), -_PREFERRED.index(domain)))
        return "integer" if most == "float" and self.wide and not self.fractional else most

    @property
    def disputed(self) -> bool:
        """True if rules ask for several domains, of which an attribute has one."""
        return len(self.asked) > 1 or (self.wide and self.fractional)

    def ask(self, domain: str) -> None:
        self.asked[domain] = self.asked.get(domain, 0) + 1

    def name_number(self, value: int | float) -> None:
        """Records a number that a rule compares the attribute with."""
        fits = -_LONG <= value < _LONG and value == int(value)
        self.fractional |= not fits
        self.wide |= fits and isinstance(value, int) and abs(value) > _EXACT


Needs = dict[str, Need]


class Use(NamedTuple):
    """Use of an attribute in a rule: the domain that it asks for, if any, and the number that it names, if any."""

    name: str
    domain: str | None = None
    number: int | float | None = None


def collected(rules: Iterable[R], uses: Callable[[R], Iterable[Use]]) -> Needs:
    """Needs of all rules that can be read: `uses` gives those of one rule, or raises `ConversionError`."""
    needs: Needs = {}
    for rule in rules:
        try:
            found = list(uses(rule))
        except ConversionError:
            continue  # `convert` tells of it
        for name, domain in dict.fromkeys((use.name, use.domain) for use in found):
            wanted = needs.setdefault(name, Need())
            if domain is not None:
                wanted.ask(domain)
        for use in found:
            if use.number is not None:
                needs[use.name].name_number(use.number)
    return needs


def merged(parts: Iterable[Mapping[str, Need]]) -> Needs:
    """Needs of several sets of rules together."""
    together: Needs = {}
    for part in parts:
        for name, wanted in part.items():
            into = together.setdefault(name, Need())
            into.multiple |= wanted.multiple
            into.wide |= wanted.wide
            into.fractional |= wanted.fractional
            for domain, count in wanted.asked.items():
                into.asked[domain] = into.asked.get(domain, 0) + count
    return together


def proposed_schema(needs: Mapping[str, Need], base: Schema | None = None, event_type: str = "event") -> Schema:
    """Schema with all the attributes needed, each optional; `base` extended where there is one.

    What the base has already stays as it is. Its event types all get the new attributes. What cannot be a name is left
    out: the rules that ask for it are refused, and no others.
    """
    known = {EVENT_TYPE} if base is None else set(base.attributes)
    new = {name: wanted for name, wanted in sorted(needs.items()) if name not in known and _is_name(name)}
    attributes = {name: wanted.domain for name, wanted in new.items()}
    annotations = {name: ["optional", "multiple"] if wanted.multiple else "optional" for name, wanted in new.items()}
    if base is None:
        return Schema.from_dict({"attributes": attributes, "event_types": {event_type: annotations}})
    if not new:
        return base
    return base.extend(attributes=attributes, optional=dict.fromkeys(base.event_types, annotations))


def _is_name(text: str) -> bool:
    try:
        name_of(text, "")
    except SchemaError:
        return False
    return True
