"""Which attributes rules ask for, and a schema that has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tamis.errors import SchemaError
from tamis.schema import EVENT_TYPE, Schema
from tamis.schema.placed import name_of

_PREFERRED = ("string", "float", "boolean")


@dataclass(slots=True)
class Need:
    """How often rules ask for an attribute in each domain; `multiple` where its values are known to come as arrays.

    A rule that only asks whether the attribute is there asks for no domain.
    """

    asked: dict[str, int] = field(default_factory=dict)
    multiple: bool = False

    @property
    def domain(self) -> str:
        """The domain most rules ask for; the others are refused where they compare it, with that as the reason."""
        return max(_PREFERRED, key=lambda domain: (self.asked.get(domain, 0), -_PREFERRED.index(domain)))

    @property
    def disputed(self) -> bool:
        """Whether rules ask for it in several domains, of which an attribute has one."""
        return len(self.asked) > 1

    def ask(self, domain: str) -> None:
        self.asked[domain] = self.asked.get(domain, 0) + 1


Needs = dict[str, Need]


def need(needs: Needs, name: str) -> Need:
    return needs.setdefault(name, Need())


def merged(parts: Iterable[Mapping[str, Need]]) -> Needs:
    """The needs of several sets of rules together."""
    together: Needs = {}
    for part in parts:
        for name, wanted in part.items():
            into = need(together, name)
            into.multiple |= wanted.multiple
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
