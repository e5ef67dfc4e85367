"""Operator matcher of subscriptions that call operators: guards by the columnar index, calls in a schedule's order,
learning of costs, saved and opened.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tamis.errors import IndexFileError, OperatorError
from tamis.language import Bound, Limits, bind
from tamis.lazy_registry import loaded
from tamis.matching.base.matcher import Answer, Binding, Part
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.holders import Holders
from tamis.matching.conditions import event_values
from tamis.matching.patterns import PatternSet
from tamis.matching.taking_in import BoundSubscriptions, bound_subscriptions
from tamis.operators.caller import Caller
from tamis.operators.cases import Entry
from tamis.operators.enrolled import NONE, Enrolled, Matched, Nodes
from tamis.operators.evaluation import Evaluation
from tamis.operators.explanation import Course, CourseExplanation
from tamis.operators.health import Health, OperatorStatistics, OperatorTable, Tally
from tamis.operators.learning import Learned, Lessons, Seen
from tamis.operators.part import CALLS_FILE, CallingPart
from tamis.operators.registry import Operator, Registry, Resolved, installed, resolve
from tamis.operators.schedules import Evidence, require_schedule
from tamis.operators.values import outside
from tamis.schema import Schema

EVENTS = 2_048
"""Events taken through a schedule together, at most."""
PAIRS = 8_000_000
"""Pairs of event and case that may be in question together, if that is more than one event has."""
LEARN_AFTER = 64
"""Events after which what they taught is taken over, and a schedule may plan anew; so many are taken together first."""
LEARNED_ENOUGH = 1_000
"""Events after which a schedule that learns by itself is no longer replaced by one of what others learned."""


class OperatorMatcher(CallingPart):
    """Matcher of the subscriptions that call operators.

    Any number of threads may match at once; a change waits until none does. The schedule is built when it is first
    needed, takes single changes in, and is built anew after large ones. Observations of events are taken over while no
    other thread matches.
    """

    def __init__(
        self,
        schema: Schema,
        operators: Mapping[str, Resolved],
        schedule: str,
        limits: Limits,
        statistics: Statistics | None = None,
    ) -> None:
        super().__init__(operators)
        self.schedule = schedule
        self.health = Health()
        self._schema = schema
        self._limits = limits
        self._statistics = statistics
        self._caller = Caller(self.health)
        self._gate = threading.Condition()
        self._stepping = threading.Lock()
        self._matching = self._waiting = 0
        self._lessons: list[Evidence] = []
        self._learned = Learned()
        self._empty()

    def _empty(self) -> None:
        self._enrolled = Enrolled(self._schema, self.resolved, self._limits, self._statistics)
        self._nodes: Nodes | None = None

    def __len__(self) -> int:
        return len(self._enrolled.roster)

    def __contains__(self, id: object) -> bool:
        return id in self._enrolled.roster

    def ids(self) -> list[str]:
        with self._gate:
            return list(self._enrolled.roster)

    def text(self, id: str) -> str:
        return self._enrolled.roster.text(id)

    def add(self, subscriptions: BoundSubscriptions) -> None:
        """Adds the subscriptions that call operators; none of their ids is present yet."""
        filters = subscriptions.filters
        if not filters.bound.called:
            return
        with self._changing():
            self._add(filters.bound, filters.ids, filters.texts)

    def _add(self, bound: Bound, ids: pa.Array, texts: pa.Array) -> None:
        new = self._enrolled.add(bound, ids, texts)
        if self._nodes is not None and len(new) > new.start // 4:
            self._plan_anew()  # dearer to insert than to build anew
        if self._nodes is not None:
            for case in new:
                self._nodes.insert(case, self._enrolled.cases.entry(case))

    def remove(self, ids: Iterable[str]) -> None:
        """Removes subscriptions, all of them present."""
        with self._changing():
            gone = self._enrolled.remove(ids)
            if self._nodes is not None:
                for case in gone:
                    self._nodes.delete(case)
            if self._enrolled.roster.given > 2 * len(self._enrolled.roster) + 1_000:
                self._rebuild()

    def _rebuild(self) -> None:
        """Compiles the subscriptions again from their texts, without removed ones."""
        roster = self._enrolled.roster
        ids, texts = [*roster], [roster.text(id) for id in roster]
        self._plan_anew()
        learned = self._learned.to_dict(self._enrolled.cases.predicates)
        self._empty()
        bound = bind(pa.array(texts, pa.large_string()), self._schema, self._limits, self.signatures)
        self._add(bound, pa.array(ids, pa.large_string()), pa.array(texts, pa.large_string()))
        self._learned = Learned()
        self._learned.read(learned, self._enrolled.cases.predicates)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._gate:
            self._waiting += 1  # keeps new matches out: else threads that match in turn would let nothing change
            try:
                self._gate.wait_for(lambda: self._matching == 0)
                yield
            finally:
                self._waiting -= 1
                self._gate.notify_all()

    @contextmanager
    def _reading(self) -> Iterator[Nodes]:
        with self._gate:
            self._gate.wait_for(lambda: self._waiting == 0)
            self._matching += 1
            if self._nodes is None:
                self._nodes = Nodes(self.schedule, self._enrolled.cases, self._learned)
            nodes = self._nodes
        try:
            yield nodes
        finally:
            with self._gate:
                self._matching -= 1
                self._gate.notify_all()

    def match(self, batch: pa.RecordBatch) -> tuple[Answer, Callable[[], list[Binding]]]:
        """Matches of the events of a canonical batch, and their bindings, made when asked for."""
        parts: list[Part] = []
        found: list[tuple[int, Evaluation, Matched]] = []
        reporting: dict[int, Entry] = {}
        with self._reading() as nodes:
            for first, chunk in self._chunks(batch):
                evaluation, matched = self._chunk(chunk, nodes)
                counts = np.bincount(matched[0], minlength=len(chunk))
                offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
                parts.append(Part(first, offsets, matched[1].astype(np.int32)))
                entries = {case: self._enrolled.cases.entry(case) for case in np.unique(matched[2]).tolist()}
                bound = {case: entry for case, entry in entries.items() if entry.reports}
                if evaluation is not None and bound:
                    reporting |= bound
                    found.append((first, evaluation, matched))
            names = self._enrolled.roster.names
        return Answer(names, parts), partial(_bindings, names, found, reporting)

    def _chunks(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Parts of the batch, each with its first row: small ones until there are observations, then larger.

        So an order that is far off is not followed for thousands of events; each part is twice as large as the one
        before.
        """
        most = max(1, min(EVENTS, PAIRS // max(1, len(self._enrolled.always) if self._enrolled.listed else 1)))
        first, size = 0, min(most, max(LEARN_AFTER, self._learned.lived))
        while first < len(batch):
            yield first, batch.slice(first, size)
            first, size = first + size, min(most, 2 * size)

    def _chunk(self, batch: pa.RecordBatch, nodes: Nodes) -> tuple[Evaluation | None, Matched]:
        enrolled, certain = self._enrolled, self._enrolled.certain.array
        events, cases = enrolled.guards.candidates(batch)
        numbers = nodes.numbers(cases)
        calling = numbers != NONE
        each = np.repeat(np.arange(len(batch), dtype=np.int64), len(certain))
        held = [(events[~calling], cases[~calling]), (each, np.tile(certain, len(batch)))]
        evaluation = None
        done = np.concatenate([enrolled.pairs(*some) for some in held])
        live = enrolled.live(len(batch), events[calling], cases[calling], done, nodes)
        if live is None or len(live.subscriptions):
            evaluation = Evaluation(batch, self._schema, self._enrolled.cases, nodes, self._caller, self._stepping)
            held.append(evaluation.run(live))
            self._learn(nodes, evaluation)
        return evaluation, enrolled.unique(*(np.concatenate(some) for some in zip(*held, strict=True)))

    def holders_of(self, patterns: PatternSet) -> Holders | None:
        # Asked within a match, beside which nothing changes.
        return self._enrolled.holders_of(patterns)

    def _learn(self, nodes: Nodes, evaluation: Evaluation) -> None:
        with self._gate:
            self._lessons.append(evaluation.evidence)
            if self._matching > 1 or sum(evidence.events for evidence in self._lessons) < LEARN_AFTER:
                return
            self._take_over(nodes)
            nodes.schedule.reconsider()

    def _take_over(self, nodes: Nodes) -> None:
        """Takes over the observations made since, by these nodes."""
        lessons, self._lessons = self._lessons, []
        self._learned.grow(len(self._enrolled.cases.predicates))
        for evidence in lessons:
            nodes.schedule.learn(evidence)
            self._learned.fade(evidence.events)
            self._learned.note(*nodes.shown(evidence))

    def _plan_anew(self) -> None:
        """Has the next match build a schedule by the current observations."""
        if self._nodes is not None:
            self._take_over(self._nodes)
        self._nodes = None

    def lessons(self) -> Lessons:
        """Observations of this process since the last call of this, for other processes."""
        with self._gate:
            events, seen = self._learned.fresh(self._enrolled.cases.predicates)
            return Lessons(events, seen, self.health.fresh())

    def known(self) -> dict[str, Seen]:
        """Observations of the predicates, by operator."""
        with self._gate:
            return self._learned.seen(self._enrolled.cases.predicates)

    def take(self, lessons: Lessons) -> None:
        """Adds observations of other events of the same stream."""
        with self._gate:
            self._learned.take(lessons.events, lessons.seen, self._enrolled.cases.predicates)
        for name, tally in lessons.tallies.items():
            self.health.add(name, tally)

    def start_from(self, seen: Mapping[str, Seen]) -> None:
        """Replaces the observations by those of all processes, this one's included, and plans anew by them.

        A schedule that learns by itself and has done so for long knows more than these counts, and stays.
        """
        with self._changing():
            if self._nodes is None or not self._nodes.learns or self._learned.lived < LEARNED_ENOUGH:
                self._plan_anew()
            self._learned.replace(seen, self._enrolled.cases.predicates)

    def adopt(self, health: Health) -> None:
        """Shares tallies and suspensions with other indexes of this process; before the first match."""
        self.health = self._caller.health = health

    def statistics(self) -> OperatorTable:
        """Statistics of the operators."""
        with self._gate:
            tallies = self.health.of(resolved.operator for resolved in self.resolved.values())
            self._learned.grow(len(self._enrolled.cases.predicates))
            return OperatorTable([self._about(resolved, tallies[name]) for name, resolved in self.resolved.items()])

    def _about(self, resolved: Resolved, tally: Tally) -> OperatorStatistics:
        operator = resolved.operator
        own = [predicate for predicate in self._enrolled.cases.predicates if predicate.name == operator.name]
        cost, selectivity = self._learned.of_operator(own)
        return OperatorStatistics(
            operator.name,
            operator.version,
            str(resolved.signature),
            operator.about,
            cost if operator.cost is None else operator.cost,
            operator.cost is None,
            operator.selectivity if selectivity is None else selectivity,
            selectivity is not None,
            len(own),
            self.health.is_suspended(operator.name),
            tally,
        )

    def saved(self) -> dict[str, Any]:
        """State of the matcher without its operators, to be saved."""
        with self._gate:
            texts = {id: self._enrolled.roster.text(id) for id in self._enrolled.roster}
            return {"texts": texts, "learned": self._learned.to_dict(self._enrolled.cases.predicates)}

    def learn_again(self, learned: Mapping[str, Any]) -> None:
        """Takes over saved observations."""
        with self._changing():
            self._learned.read(learned, self._enrolled.cases.predicates)

    def explain(self, event: Mapping[str, object], id: str) -> CourseExplanation:
        """Explains one subscription on one event, with the evaluations that the event takes."""
        batch = self._schema.to_arrow([event])
        with self._reading() as nodes:
            _, guarded = self._enrolled.guards.candidates(batch)
            evaluation = Evaluation(batch, self._schema, self._enrolled.cases, nodes, self._caller, self._stepping)
            live = np.concatenate([self._enrolled.certain.array, self._enrolled.always.array, guarded])
            course = Course(evaluation, self._enrolled.cases, nodes, live, self._schema)
            own = self._enrolled.roster.cases(id)
            course.run(own)
            return course.explained(own, event_values(batch, self._schema)[0])


def _bindings(
    names: pa.Array, found: list[tuple[int, Evaluation, Matched]], entries: Mapping[int, Entry]
) -> list[Binding]:
    """Bindings of all matches of these entries, by case: those that have variables with a name."""
    made: list[Binding] = []
    for first, evaluation, (events, owners, cases) in found:
        for event, owner, case in zip(events.tolist(), owners.tolist(), cases.tolist(), strict=True):
            substitutions = evaluation.substitutions(event, entries[case]) if case in entries else None
            if substitutions is not None:
                variables = {name: outside(value) for name, value in substitutions.first.items()}
                made.append(Binding(first + event, names[owner].as_py(), variables, substitutions.count))
    return made


# The part of an index that calls operators, made anew, or opened from the folder of a saved index.

_ORACLE: Final = "tamis.operators.naive:NaiveOperators"  # by name: nothing but the matcher of that name needs it


def calling_part(
    operators: Iterable[Operator | str],
    schema: Schema,
    limits: Limits,
    schedule: str = "adaptive",
    matcher: str = "",
    statistics: Statistics | None = None,
) -> CallingPart:
    """Empty part for these operators. The oracle calls operators in its own way, whatever the schedule."""
    require_schedule(schedule)
    resolved = resolved_all(operators, schema)
    if matcher == "naive":
        oracle: CallingPart = loaded(_ORACLE)(schema, resolved, limits)
        return oracle
    return OperatorMatcher(schema, resolved, schedule, limits, statistics)


def open_calling_part(
    folder: Path,
    about: Mapping[str, Any] | None,
    operators: Iterable[Operator | str] | None,
    schema: Schema,
    limits: Limits,
) -> CallingPart | None:
    """Opens a saved part by its description; None where nothing is saved and no operator is given."""
    if about is None:
        return None if operators is None else calling_part(operators, schema, limits)
    try:
        content = (folder / CALLS_FILE).read_bytes()
        if zlib.crc32(content) != about["checksum"]:
            raise ValueError("it does not agree with its checksum")
        saved, schedule, matcher = json.loads(content), about["schedule"], "naive" if about["oracle"] else ""
    except (OSError, ValueError, KeyError) as error:
        raise IndexFileError(
            f"{folder / CALLS_FILE} cannot be read: {error}; compile and save the index anew"
        ) from error
    given = Registry([] if operators is None else operators)
    missing = [name for name in about["versions"] if name not in given]
    offered = _offered(missing)
    part = calling_part([*given.values(), *offered], schema, limits, schedule, matcher)
    _restore(part, saved["texts"], schema, limits, set(missing) - {operator.name for operator in offered})
    part.learn_again(saved["learned"])
    return part


def _restore(
    part: CallingPart, texts: Mapping[str, str], schema: Schema, limits: Limits, missing: Collection[str]
) -> None:
    new = bound_subscriptions(texts, schema, limits, part.signatures)
    if new.refused:
        id, error = new.refused[0]
        lacking = f"there is no operator {', '.join(sorted(missing))} here"
        reason = f"{lacking}; hand it over: Index.open(path, operators=[...])" if missing else error.message
        raise OperatorError(f"subscription {id} cannot be restored: {reason}")
    part.add(new)


def resolved_all(operators: Iterable[Operator | str], schema: Schema) -> dict[str, Resolved]:
    """Operators resolved under a schema, by name."""
    return {name: resolve(operator, schema) for name, operator in Registry(operators).items()}


def _offered(names: Iterable[str]) -> list[Operator]:
    """Operators of these names that installed packages offer; filters that call another will be refused."""
    found = []
    for name in names:
        try:
            found.append(installed(name))
        except OperatorError:
            continue
    return found
