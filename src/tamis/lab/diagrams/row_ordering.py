"""The order of attributes in the diagrams, by what past filters asked for."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tamis.lab.diagrams.ordering import from_the_top
from tamis.language.forms import Filter
from tamis.language.predicates import Literal, attributes_of


def order_from_history(filters: Iterable[Filter]) -> list[str]:
    """The attributes of past filters, from the top of the diagrams down."""
    uses: dict[str, int] = {}
    distinct: dict[str, set[Literal]] = {}
    for filter in filters:
        for conjunct in filter.conjuncts:
            for literal in conjunct:
                name = attributes_of(literal)[0]
                uses[name] = uses.get(name, 0) + 1
                distinct.setdefault(name, set()).add(literal)
    names = sorted(uses)
    places = from_the_top(np.array([uses[n] for n in names]), np.array([len(distinct[n]) for n in names]))
    return [names[place] for place in places.tolist()]
