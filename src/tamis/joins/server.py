"""Join server: applies events to tables and returns messages of one scheme; contents and snapshots for clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.errors import FilterError, SubscriptionError, TamisError, Violation
from tamis.joins.arrivals import Identity, Result, Showing, Shown, Values
from tamis.joins.client import ContentChange, JoinClient, Note, RowFilter, Snapshot, notes_for
from tamis.joins.holding import Holding
from tamis.joins.index.messages import Messages
from tamis.joins.intake import Intake, TableRecord, Taken
from tamis.joins.layout import DEFAULT_PLAN, JoinPlan, LaidOut, Layout
from tamis.joins.lowering import Coding, JoinGroup, lower
from tamis.joins.netting import (
    NetChanges,
    Netting,
    ResultChange,
    ResultChanges,
    RowChange,
    changed_results,
    changed_rows,
    results_in_arrow,
)
from tamis.joins.residues import Residues
from tamis.joins.roster import Part, Roster, Subscribed
from tamis.joins.schemes.scheme import SCHEMES, Scheme
from tamis.language import DEFAULT_LIMITS, Limits
from tamis.language.comparisons import Comparisons
from tamis.language.joins.parsing import JoinTree, check_join
from tamis.matching.codes.holders import Holders
from tamis.matching.patterns import PatternSet
from tamis.matching.taking_in import BoundSubscriptions, GivenTexts, bound_joins
from tamis.schema import OPERATION, Schema
from tamis.schema.checking import Checked

_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of a batch: its messages in order, and the events that were refused, with the reasons.

    Message m is due to event `event[messages.event[m]]` of the batch; `taken` is what became of the tables.
    """

    messages: Messages
    refused: list[Violation]
    event: Int64s
    taken: Taken


class JoinServer:
    """Tables and join subscriptions under one schema, and one scheme that tells subscribers of changes.

    `errors` lists the subscriptions refused so far. Changes of any kind are made by one thread at a time.
    """

    def __init__(
        self,
        schema: Schema,
        subscriptions: GivenTexts | None = None,
        scheme: str = "enum-j",
        limits: Limits = DEFAULT_LIMITS,
        plan: JoinPlan = DEFAULT_PLAN,
    ) -> None:
        if scheme not in SCHEMES:
            raise TamisError(f"there is no scheme {scheme!r}; there are {', '.join(SCHEMES)}")
        self.schema = schema
        self.errors: list[tuple[str, FilterError]] = []
        self._kind = SCHEMES[scheme]
        self.limits = limits
        self._coding = Coding(schema)
        self._intake = Intake(schema, self._coding)
        self._roster = Roster()
        self._residuals = Residues(schema, limits)
        self._trees: dict[str, JoinTree] = {}
        self._laid_out: LaidOut | None = None  # not before somebody subscribes, or an event comes
        self._sequence = 0
        self.plan = plan
        if subscriptions is not None:
            self.add(subscriptions)

    @property
    def scheme(self) -> str:
        """Name of the scheme in use."""
        return self._kind.name

    def add(self, subscriptions: GivenTexts | BoundSubscriptions) -> list[tuple[str, FilterError]]:
        """Adds joins: `{id: text}`, a table of `id` and `filter`, or texts that the language has read.

        Returns those that are refused, with the reasons.
        """
        if isinstance(subscriptions, BoundSubscriptions):
            new = subscriptions.joins
        else:
            new = bound_joins(subscriptions, self.schema, self.limits)
        if new is None or not len(new.ids):
            return []
        for id in new.ids.to_pylist():
            if id in self._roster.numbers:
                raise SubscriptionError(f"there is a subscription {id!r} already; remove it first")
        groups = lower(new.ids, new.bound, self.schema, self._coding).groups
        laid = self._laid_out
        if laid is None or not laid.layout.fits(groups):
            laid = self._lay_out([*self._roster.groups(), *groups])
        for group in groups:
            numbers = laid.scheme.subscribe(laid.layout.ranges(group))
            self._roster.enter(Part(group, new.ids, new.texts, numbers, self._residuals.enter(group)))
        refused = [(new.ids[row].as_py(), error) for row, error in new.bound.errors]
        self.errors += refused
        return refused

    def remove(self, ids: Iterable[str]) -> None:
        """Removes subscriptions; all of them must be there, else none is removed."""
        given = list(dict.fromkeys(ids))
        numbers = [self._found(id).number for id in given]
        self._laid.scheme.unsubscribe(np.array(numbers, np.int64))
        for number in numbers:
            self._residuals.leave(self._roster.filters_of(number))
        self._roster.leave(given)

    def apply(self, events: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch) -> Applied:
        """Applies events. Those that break the schema, or that their table cannot take, are refused with a reason."""
        return self.apply_checked(self.schema.check(self.schema.to_arrow(events)))

    def apply_checked(self, checked: Checked) -> Applied:
        """Applies events that were validated before; those that break the schema are refused here as well."""
        scheme, taken = self._take(checked)
        refused = [Violation(**row) for row in checked.violations.to_pylist()]
        rows = np.asarray(checked.valid_rows)
        refused += [Violation(int(rows[row]), OPERATION, "table", None, why) for row, why in taken.refused.items()]
        messages = scheme.change(taken.changes)
        return Applied(messages, sorted(refused, key=lambda violation: violation.event), rows[taken.event], taken)

    def follow(self, events: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch) -> None:
        """Applies events without messages: for changes that another server has sent."""
        scheme, taken = self._take(self.schema.check(self.schema.to_arrow(events)))
        scheme.follow(taken.changes)

    def holders_of(self, patterns: PatternSet) -> Holders | None:
        """Subscriptions that hold the patterns of a set; None if the set is of none here.

        Asked by the meter (`metering.Meter`) while contents are worked out, in its thread.
        """
        return self._residuals.holders_of(patterns, self._roster)

    def notes(self, applied: Applied, id: str) -> list[Note]:
        """Messages that a subscription's filter accepts, as its client reads them; before the next batch."""
        number, laid = self._found(id).number, self._laid
        return notes_for(applied.messages, number, laid.scheme.state.subscriptions, laid.layout, self._intake)

    def results(self, applied: Applied) -> ResultChanges:
        """Net changes of all contents by the batch, in Arrow; before the next batch. Needs `enum-j`."""
        passing = [self._residuals.passing(one, self._roster, self._intake) for one in self._told(applied, net=True)]
        return ResultChanges(results_in_arrow(passing, self._roster, self._intake, self.schema))

    def notifications(self, applied: Applied) -> dict[str, ContentChange]:
        """Changes of the content of each affected subscription, by id; before the next batch. Needs `enum-j`."""
        return self.results(applied).by_subscription

    def result_changes(self, applied: Applied) -> list[ResultChange]:
        """Changes event by event, without netting; before the next batch. Needs `enum-j`."""
        told = [self._residuals.passing(one, self._roster, self._intake) for one in self._told(applied, net=False)]
        return list(changed_results(told, self._roster, self._intake, self.schema))

    def row_changes(self, applied: Applied) -> list[RowChange]:
        """Changes of rows by the batch, in order; before the next batch."""
        return list(changed_rows(applied.taken.changes, applied.event, self._laid.layout, self._intake))

    def client(self, id: str) -> JoinClient:
        """Client of a subscription with its current content."""
        found = self._found(id)
        filtering = self.plan.filters(found.group.signature) if "sj" in self.scheme else None
        client = JoinClient(self._tree(found.text), self.schema, filtering, self.limits)
        client.resync(self.snapshot(id))
        return client

    def snapshot(self, id: str) -> Snapshot:
        """Content that a client of this scheme holds now."""
        found = self._found(id)
        signature = found.group.signature
        if self.scheme in ("enum-j", "ref-j", "ref-j+"):
            return Snapshot(self._latest, results=self._joined(found))
        selected = {table: self._selected(found, table) for table in signature.tables}
        if self.scheme == "rel-sel":
            return Snapshot(self._latest, {table: self._intake.listed(table, rows) for table, rows in selected.items()})
        tuples = {}
        for table, other in self.plan.filters(signature).items():
            reached = self._laid.keys(found, table, other, other)[selected[other]]
            own = selected[table]
            kept = own[np.isin(self._laid.keys(found, table, other, table)[own], reached)]
            tuples[table] = self._intake.listed(table, kept)
        return Snapshot(self._latest, tuples)

    def content(self, id: str) -> list[Shown]:
        """Current results of a subscription, in no particular order."""
        return [shown for _, shown in self.results_of(id)]

    def results_of(self, id: str) -> list[tuple[Result, Shown]]:
        """Current results of a subscription, each with the rows that it is made of."""
        found = self._found(id)
        showing = Showing(found.group.signature, found.group.columns, self.schema)
        return [(result, showing.show(rows)) for result, rows in self._joined(found).items()]

    def columns(self, id: str) -> list[str]:
        """Columns shown of each of a subscription's results, in order."""
        group = self._found(id).group
        return list(Showing(group.signature, group.columns, self.schema).labels)

    def rows(self, table: str) -> dict[Identity, Values]:
        """Rows of a table in the language's types."""
        return self._intake.listed(table, self._intake.numbers(table))

    def passing(self, id: str, table: str) -> dict[Identity, Values]:
        """Rows of one of its tables that pass a subscription's conditions."""
        found = self._found(id)
        condition = RowFilter.of(self._tree(found.text), table, self.schema, self.limits)
        selected = self._intake.listed(table, self._selected(found, table))
        return {key: row for key, row in selected.items() if condition.passes(row)}

    @property
    def sequence(self) -> int:
        """Number of changes so far."""
        return self._sequence

    def tables(self) -> dict[str, TableRecord]:
        """Current state of all tables, for `restore`."""
        return {name: self._intake.record(name) for name in self.schema.tables}

    def arrivals(self, table: str) -> tuple[int, int | None]:
        """Number of rows a table ever took, and the greatest time among them if its retention goes by time."""
        return self._intake.arrivals(table)

    def restore(self, tables: Mapping[str, TableRecord], sequence: int) -> None:
        """Restores empty tables to a state after so many changes, without messages."""
        for name, record in tables.items():
            self._intake.restore(name, record)
        self._sequence = sequence
        self._lay_out(self._roster.groups())

    def remember_times(self, latest: Mapping[str, int]) -> None:
        """The greatest times that windows have seen, where rows alone do not say."""
        for name, time in latest.items():
            self._intake.remember(name, time)

    def text(self, id: str) -> str:
        """Text of a subscription as it was written."""
        return self._found(id).text

    def ids(self) -> list[str]:
        return list(self._roster.numbers)

    def texts(self) -> pa.Table:
        """All subscriptions, as a table of `id` and `filter`."""
        return self._roster.texts()

    def __len__(self) -> int:
        return len(self._roster)

    def __contains__(self, id: object) -> bool:
        return id in self._roster.numbers

    def __repr__(self) -> str:
        return f"<JoinServer of {len(self)} subscriptions, {self.scheme}>"

    def _take(self, checked: Checked) -> tuple[Scheme, Taken]:
        """Puts the rows of events into tables; the scheme is yet to hear of them."""
        laid = self._lay_out(self._roster.groups()) if self._intake.outgrown else self._laid
        taken = self._intake.take(checked.valid, laid.layout, laid.scheme.state.rows)
        self._sequence += len(taken.changes)
        return laid.scheme, taken

    def _told(self, applied: Applied, net: bool) -> list[NetChanges]:
        if self.scheme != "enum-j":
            raise TamisError(f"{self.scheme!r} leaves results to clients; make clients, or use the scheme 'enum-j'")
        netting = Netting(applied.taken.changes, applied.event, applied.taken.same)
        return (netting.net if net else netting.told)(applied.messages, self._laid.layout.shape)

    @property
    def _latest(self) -> int:
        """Number of the last change; the first one has 0."""
        return self._sequence - 1

    def _found(self, id: str) -> Subscribed:
        if id not in self._roster.numbers:
            raise SubscriptionError(f"there is no join subscription {id!r}")
        return self._roster.found(id)

    def _tree(self, text: str) -> JoinTree:
        """Syntax tree of a subscription's text; the last few are cached."""
        tree = self._trees.pop(text, None)
        if tree is None:
            tree = check_join(text, self.schema, Comparisons(text, self.limits))
        self._trees[text] = tree
        if len(self._trees) > _REMEMBERED:
            del self._trees[next(iter(self._trees))]
        return tree

    @property
    def _laid(self) -> LaidOut:
        return self._laid_out or self._lay_out(self._roster.groups())

    def _lay_out(self, groups: Sequence[JoinGroup]) -> LaidOut:
        """Makes a new scheme, for subscriptions with columns or edges that the old one had no place for."""
        before = None if self._laid_out is None else self._laid_out.layout
        layout = Layout(self.schema, groups, self.plan, before)
        scheme = self._kind(layout.shape)
        self._laid_out = laid = LaidOut(layout, scheme)
        state = scheme.state
        state.sequence = self._sequence
        for table in self._intake.reload(layout, state.rows):
            number = layout.numbers[table]
            for edge in state.rows[number].edges:
                state.edges[edge].load(number, self._intake.numbers(table))
        self._roster.enter_again(
            [
                (part, places, scheme.subscribe(layout.ranges(part.group).take(places)))
                for part, places in self._roster.renumber()
            ]
        )
        return laid

    def _selected(self, found: Subscribed, table: str) -> Int64s:
        return self._laid.selected(found, table, self._intake.numbers(table))

    def _passing(self, found: Subscribed, table: str) -> Int64s:
        """Rows that pass a subscription's intervals and residual filters on a table."""
        rows = self._laid.within(found, table, self._intake.numbers(table))
        number = self._roster.filters_of(found.number).get(table)
        if number is None or not len(rows):
            return rows
        return rows[self._residuals.hold(table, np.full(len(rows), number, np.int32), rows, self._intake)]

    def _joined(self, found: Subscribed) -> dict[Result, tuple[Values, ...]]:
        """Rows of each current result, in the order of the signature's tables."""
        results: dict[Result, tuple[Values, ...]] = {}
        holding = Holding(found.group.signature, {}, results.__setitem__, results.__delitem__)
        for table in found.group.signature.tables:
            for identity, row in self._intake.listed(table, self._passing(found, table)).items():
                holding.put(0, table, identity, row, True)
        return results
