"""Matcher `mbd`: modified binary decision diagrams; every distinct predicate and every node is evaluated once an
event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tamis.arrays import Int32s, Int64s
from tamis.errors import TamisError
from tamis.lab.diagrams.diagrams import Diagrams, match_by_diagrams
from tamis.lab.le_subscribe.counting import Predicates, loose_predicates, predicates_of
from tamis.lab.le_subscribe.verified import VerifiedLevel, rows_of
from tamis.matching.base.matcher import Subscriptions
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.encoding import Conjuncts
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.plan import Knowledge
from tamis.schema import Schema

# Options of the matcher.


@dataclass(frozen=True, slots=True)
class DiagramOptions:
    """Options of the matcher `mbd`.

    `order`: attributes from the top of the diagrams down; those that are not named come before them, in the order that
    past subscriptions suggest (`from_the_top`). An index that is opened from files keeps the order that its diagrams
    have; what is added to it later is ordered by what was asked for.
    """

    order: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> DiagramOptions:
        """Options by name; `order` may be one attribute."""
        for name, value in form.items():
            if name != "order":
                raise TamisError(f"mbd has no option {name!r}; it has order")
            if not isinstance(value, list | tuple | str):
                raise TamisError(f"{value!r} is nothing that the option 'order' can be: it is a list of attributes")
        named = form.get("order", ())
        return cls((named,) if isinstance(named, str) else tuple(named))


# Order of attributes: at the bottom those whose nodes can be shared most.


def from_the_top(uses: npt.NDArray[Any], distinct: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Order of attributes from the top, by how often each is used and how many distinct predicates use it.

    What is asked often, and by few predicates, goes to the bottom: there most conjunctions can have it in common
    (Li, Hou and Jacobsen 2005, §3.2; its third criterion, what belongs together by its meaning, is not known here).
    """
    shared = uses / np.maximum(1, distinct)
    return np.argsort(shared, kind="stable").astype(np.int64)


class Nodes(NamedTuple):
    """Arrays of the diagrams: node n is variable `variables[n]` and node `children[n] < n`; node 0 is true.

    The conjunctions that hold iff node n does are `rows[starts[n]:starts[n + 1]]`.
    """

    variables: Int32s
    children: Int32s
    starts: Int64s
    rows: Int32s


class MbdLevel(VerifiedLevel):
    """Level of the index: predicates, each of which is a variable, and the diagrams over them."""

    parts: ClassVar[dict[str, type[Any]]] = {"predicates": Predicates, "diagrams": Nodes}
    kernel = match_by_diagrams
    order: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def in_order(cls, order: tuple[str, ...]) -> type[Self]:
        """Class of levels with these attributes at the bottom, the last one lowest."""
        return type(cls.__name__, (cls,), {"order": order})

    @classmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Predicates, Nodes]:
        loose = loose_predicates(conjuncts, rows_of(conjuncts), np.ones(len(conjuncts.lows), np.bool_))
        found = predicates_of(loose, np.arange(len(conjuncts), dtype=np.int32), encoder)
        variables = np.repeat(np.arange(len(found.bounds), dtype=np.int32), np.diff(found.starts))
        columns = _columns(found)
        ranks = _ranks(variables, columns, [column.attribute for column in encoder.columns], cls.order)
        nodes = _nodes(found.targets, variables, ranks[columns[variables]], len(conjuncts))
        itself = np.arange(len(found.bounds) + 1)
        return found._replace(starts=itself, targets=itself[:-1].astype(np.int32)), nodes

    def working_memory(self) -> Any:
        predicates, nodes = self._own
        return np.zeros(len(predicates.bounds), np.uint8), np.zeros(len(nodes.variables), np.uint8)


class MbdMatcher(LevelledMatcher[MbdLevel]):
    """Modified binary decision diagrams (Li, Hou and Jacobsen 2005, §3): subscriptions that share predicates share
    nodes.

    An event decides each distinct predicate once, by hashing and binary search in the predicate index, and then every
    node is evaluated, once, children first; so an event costs what all nodes cost, however few of them hold. Attributes
    that are asked often and by few predicates are at the bottom, where nodes are shared; or as `options.order` says.

    Departs: a range of two bounds is two predicates; a filter with OR has an output node for each of its conjunctions;
    lists, negations and patterns besides are tested once their conjunction's node holds; additions make levels (see
    LevelledMatcher), and garbage is left behind when levels are folded.
    """

    name: ClassVar[str] = "mbd"
    level = MbdLevel
    options: ClassVar[type[DiagramOptions]] = DiagramOptions

    @classmethod
    def build(
        cls,
        subscriptions: Subscriptions,
        schema: Schema,
        statistics: Statistics | None,
        options: DiagramOptions = DiagramOptions(),  # noqa: B008  # frozen
    ) -> Self:
        for name in options.order:
            if name not in schema.attributes:
                raise TamisError(f"there is no attribute {name!r} to put in order")
        matcher = cls(schema, (), statistics)
        matcher.level = MbdLevel.in_order(options.order)
        matcher._grow(subscriptions)
        return matcher

    @property
    def given_options(self) -> Mapping[str, Any]:
        return {"order": list(self.level.order)} if self.level.order else {}

    def _take_options(self, options: Mapping[str, Any]) -> None:
        self.level = MbdLevel.in_order(DiagramOptions.from_dict(options).order)


def _columns(predicates: Predicates) -> Int64s:
    """Column of each predicate."""
    columns = np.zeros(len(predicates.bounds), np.int64)
    places = np.flatnonzero(predicates.equal >= 0)
    columns[predicates.equal[places]] = np.searchsorted(predicates.equal_firsts, places, "right") - 1
    for firsts in (predicates.from_firsts, predicates.up_to_firsts):
        some = np.arange(firsts[0], firsts[-1])
        columns[some] = np.searchsorted(firsts, some, "right") - 1
    return columns


def _ranks(variables: Int32s, columns: Int64s, attributes: list[str], order: tuple[str, ...]) -> Int64s:
    """Place of each column from the top: by frequency of use, and below that as ordered by the options."""
    count = len(attributes)
    uses, distinct = np.bincount(columns[variables], minlength=count), np.bincount(columns, minlength=count)
    given = {name: place for place, name in enumerate(order)}
    from_top = sorted(from_the_top(uses, distinct).tolist(), key=lambda column: given.get(attributes[column], -1))
    ranks = np.empty(count, np.int64)
    ranks[from_top] = np.arange(count)
    return ranks


def _nodes(rows: Int32s, variables: Int32s, ranks: Int64s, conjunctions: int) -> Nodes:
    """Diagrams of conjunctions, from the rows' variables and their distance from the top."""
    order = np.lexsort((variables, -ranks, rows))  # each conjunction from the bottom up
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(rows, minlength=conjunctions))])
    diagrams = Diagrams(len(variables) + 1)
    roots = diagrams.add_all(offsets, variables[order])
    by_node = np.argsort(roots, kind="stable").astype(np.int32)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(roots, minlength=diagrams.end))])
    end = diagrams.end
    return Nodes(diagrams.variables[:end].copy(), diagrams.children[:end].copy(), starts, by_node)
