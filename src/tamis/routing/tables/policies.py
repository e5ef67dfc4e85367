"""Policies of forwarding: all filters, those that nothing else covers, or what those are merged into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from tamis.errors import FilterError, FilterSyntaxError
from tamis.language import DEFAULT_LIMITS, Filter, Limits, bind, normalise, parse, print_filter
from tamis.language.cutting import fill_conjunct, literals_of
from tamis.language.joins import are_joins
from tamis.language.predicates import sort_key
from tamis.language.tree import Conjunct
from tamis.matching.base.statistics import Statistics
from tamis.routing.covering.summary import Summary
from tamis.routing.forwarding import CoveringForwarding, Forwarding, SimpleForwarding
from tamis.routing.merging import MergePolicy, MergingTable
from tamis.schema import Schema

# A filter as brokers know it.

_MANY: Final = 8


@dataclass(frozen=True, slots=True)
class RoutedFilter:
    """A filter under its canonical text, which is all that brokers know it by.

    Who asked for it is known to the broker that they are at, and to nobody else: filters that are alike are one from
    there on, so that tables are the same in whatever order they came about.
    """

    text: str
    form: Filter = field(compare=False)


def read_filter(text: str, schema: Schema, limits: Limits = DEFAULT_LIMITS) -> RoutedFilter:
    """The filter in canonical form; `FilterError` if the text is none, calls operators, or joins tables."""
    if schema.tables and are_joins(pa.array([text]))[0]:
        raise FilterSyntaxError("a join is not routed by brokers; subscribe with a filter", text, 0, len(text))
    form = normalise(parse(text, schema, limits), schema, limits, text)
    written = print_filter(form, schema)
    if len(written) > len(text) and not _is_readable(written, schema, limits):
        written = text  # its canonical form is too large to be read again, by the next broker for one
    return RoutedFilter(written, form)


def read_canonical(texts: Sequence[str], schema: Schema, limits: Limits = DEFAULT_LIMITS) -> list[RoutedFilter]:
    """Texts that `read_filter` has written, read again: many at once, each shape of them parsed once.

    `FilterError` if one is none. A text of other making is read too, but not brought into normal form.
    """
    if len(texts) < _MANY:
        return [read_filter(text, schema, limits) for text in texts]
    bound = bind(texts, schema, limits)
    if bound.errors:
        raise bound.errors[0][1]
    forms: list[tuple[Conjunct, ...]] = [()] * len(texts)
    for block in bound.blocks:
        for row, values in zip(block.rows.tolist(), literals_of(block.columns, len(block.rows)), strict=True):
            forms[row] = tuple(fill_conjunct(conjunct, values) for conjunct in block.template.conjuncts)
    for block in bound.terms:
        ((*literals,),) = block.template.conjuncts
        for row, values in zip(block.rows.tolist(), literals_of(block.columns, len(block.rows)), strict=True):
            forms[row] = ((*(forms[row][0] if forms[row] else ()), *fill_conjunct(tuple(literals), values)),)
    return [RoutedFilter(text, Filter(_ordered(form))) for text, form in zip(texts, forms, strict=True)]


def _ordered(conjuncts: Iterable[Conjunct]) -> tuple[Conjunct, ...]:
    sorted_ones = {tuple(sorted(set(conjunct), key=sort_key)) for conjunct in conjuncts}
    return tuple(sorted(sorted_ones, key=lambda conjunct: [sort_key(literal) for literal in conjunct]))


def _is_readable(text: str, schema: Schema, limits: Limits) -> bool:
    try:
        parse(text, schema, limits)
    except FilterError:
        return False
    return True


# A change of a set of filters.


@dataclass(frozen=True, slots=True)
class RowChange:
    """Change of a set of filters, at once: nothing is in both parts, and neither comes without the other."""

    added: tuple[RoutedFilter, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


Policy = Callable[[Schema], Forwarding]

_SIMPLE: Final = "simple"
_COVERING: Final = "covering"
_MERGING: Final = "merging"
POLICIES: Final = (_SIMPLE, _COVERING, _MERGING)


def policy(name: str, merging: MergePolicy | None = None) -> Policy:
    """One of `POLICIES`; `merging` says when filters are merged and how far, where they are."""
    if name == _SIMPLE:
        return lambda schema: SimpleForwarding()
    if name == _COVERING:
        return CoveringForwarding
    if name == _MERGING:
        return lambda schema: MergingTable(schema, merging)
    raise ValueError(f"there is no policy {name!r}; there are {', '.join(POLICIES)}")


class Reduction:
    """A set of filters by their texts, and what is forwarded of it, or stands for it, by text too.

    Whatever matches a filter of the set matches one that is forwarded.
    """

    def __init__(self, schema: Schema, policy: Policy) -> None:
        self._schema = schema
        self._forwarding = policy(schema)
        self._texts: dict[str, str] = {}  # of what is forwarded, by its id: a filter's text, or a merger's name
        self._counts: dict[str, int] = {}
        self.forwarded: dict[str, RoutedFilter] = {}

    def change(self, added: Iterable[RoutedFilter], removed: Iterable[RoutedFilter]) -> RowChange:
        """Takes filters in that are not in the set, and those out that are; returns what is forwarded differently."""
        known: dict[str, RoutedFilter] = {}
        before: dict[str, bool] = {}
        changes = [self._forwarding.insert(filter.text, filter.form) for filter in added]
        changes += [self._forwarding.remove(filter.text) for filter in removed]
        for change in changes:
            for id, form in change.subscribe:
                # A merger may say in the same words what a filter said before it.
                text = self._texts[id] = id if id in self._forwarding else print_filter(form, self._schema)
                before.setdefault(text, text in self._counts)
                known[text] = RoutedFilter(text, form)
                self._counts[text] = self._counts.get(text, 0) + 1
            for id in change.unsubscribe:
                text = self._texts.pop(id)
                before.setdefault(text, text in self._counts)
                self._counts[text] -= 1
                if not self._counts[text]:
                    del self._counts[text]
        gained = tuple(known[text] for text, was in before.items() if not was and text in self._counts)
        lost = tuple(text for text, was in before.items() if was and text not in self._counts)
        for text in lost:
            del self.forwarded[text]
        self.forwarded.update((filter.text, filter) for filter in gained)
        return RowChange(gained, lost)

    def learn(self, statistics: Statistics) -> None:
        """Events are expected to be so: from the next merging on."""
        if isinstance(self._forwarding, MergingTable):
            self._forwarding.learn(statistics)

    def expect(self, gates: Mapping[str, RoutedFilter]) -> None:
        """Only events that match one of these will come from where the filters are forwarded to."""
        if isinstance(self._forwarding, MergingTable):
            self._forwarding.advertise([gate.form for gate in gates.values()])


# Whether some event could satisfy two filters: which subscriptions are worth telling to whoever advertises.


def intersects(a: Filter, b: Filter, schema: Schema) -> bool:
    """False only if no event satisfies both; True also where patterns or comparisons of attributes hide that.

    A subscription that is forwarded in vain costs a row; one that is not forwarded would cost events.
    """
    if () in a.conjuncts or () in b.conjuncts:  # TRUE
        return bool(a.conjuncts) and bool(b.conjuncts)
    return any(not Summary((*one, *other), schema).impossible for one in a.conjuncts for other in b.conjuncts)
