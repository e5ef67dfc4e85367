"""What can be chosen of the diagrams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tamis.errors import TamisError


@dataclass(frozen=True, slots=True)
class Options:
    """`order`: attributes from the top of the diagrams down; those that are not named come before them, in the order
    that past subscriptions suggest (ordering.py). An index that is opened from files keeps the order that its
    diagrams have; what is added to it later is ordered by what was asked for."""

    order: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Options:
        """Options by name; `order` may be one attribute."""
        for name, value in form.items():
            if name != "order":
                raise TamisError(f"mbd has no option {name!r}; it has order")
            if not isinstance(value, list | tuple | str):
                raise TamisError(f"{value!r} is nothing that the option 'order' can be: it is a list of attributes")
        named = form.get("order", ())
        return cls((named,) if isinstance(named, str) else tuple(named))
