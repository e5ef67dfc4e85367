"""Which attributes rules ask for, and a schema that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from tamis.dialects.conversion import ConversionError
from tamis.errors import SchemaError
from tamis.schema import EVENT_TYPE, Schema
from tamis.schema.placed import name_of

R = TypeVar("R")

_PREFERRED = ("string", "float", "boolean")
_EXACT = 1 << 53
"""Beyond this, doubles do not hold every whole number."""
_LONG = 1 << 63


@dataclass(slots=True)
class Need:
    """How often rules ask for an attribute in each domain; `multiple` where its values are known to come as arrays.

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
        """The domain most rules ask for; the others are refused where they compare it, with that as the reason."""
        most = max(_PREFERRED, key=lambda domain: (self.asked.get(domain, 0), -_PREFERRED.index(domain)))
        return "integer" if most == "float" and self.wide and not self.fractional else most

    @property
    def disputed(self) -> bool:
        """Whether rules ask for it in several domains, of which an attribute has one."""
        return len(self.asked) > 1 or (self.wide and self.fractional)

    def ask(self, domain: str) -> None:
        self.asked[domain] = self.asked.get(domain, 0) + 1

    def name_number(self, value: int | float) -> None:
        """Notes a number that a rule compares the attribute with."""
        fits = -_LONG <= value < _LONG and value == int(value)
        self.fractional |= not fits
        self.wide |= fits and isinstance(value, int) and abs(value) > _EXACT


Needs = dict[str, Need]


class Use(NamedTuple):
    """One use of an attribute in a rule: the domain that it asks for, if any, and the number that it names, if any."""

    name: str
    domain: str | None = None
    number: int | float | None = None


def collected(rules: Iterable[R], uses: Callable[[R], Iterable[Use]]) -> Needs:
    """The needs of all rules that can be read: `uses` gives those of one rule, or raises `ConversionError`."""
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
    """The needs of several sets of rules together."""
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
    """A schema with all the attributes needed, each optional; `base` extended where there is one.

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
