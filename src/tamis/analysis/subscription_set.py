"""Analysis of a subscription set: `analyze`, usage of attributes and conditions, conditions as text, and matches of
past events.

Everything is computed from one level of the columnar index with all subscriptions in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.analysis.cost_model import cost_of
from tamis.analysis.findings import Analysis, Found, always_true, never_true, table_of
from tamis.arrays import Int64s
from tamis.engine import Index, compile
from tamis.errors import FilterError, TamisError
from tamis.language import Filter, normalise, parse
from tamis.language.extents import (
    END,
    Cut,
    Extent,
    alternatives_of,
    everything,
    is_stepped,
    literals_of,
    negatives_of,
    united,
    without,
)
from tamis.language.predicates import Like, Literal, Not, Present, Versus
from tamis.language.printing import print_literal
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.columns import Encoder
from tamis.matching.columnar.level import ColumnarLevel, ColumnarMatcher
from tamis.matching.taking_in import GivenTexts
from tamis.routing.covering import Relation, relate
from tamis.routing.covering.exact_values import prefixed
from tamis.routing.covering.facts.facts import Facts, facts_of
from tamis.routing.covering.facts.kernels import ABSENT, EVERY, NO_PATTERN, NO_VERSUS, PATTERN, SOME, VERSUS
from tamis.routing.covering.search.covers import Compare, find_covers
from tamis.routing.covering.search.ground import Classes, classes_of
from tamis.schema import Attribute, Schema

# Wording: the condition of a fact, as it would be written in a filter.

_AFTER_PREFIX = b"\xff"


class Wording:
    """Writer of conditions for the facts of one level."""

    def __init__(self, facts: Facts, encoder: Encoder, schema: Schema) -> None:
        self._facts, self._encoder, self._schema = facts, encoder, schema

    def of(self, attribute: int, kind: int, number: int) -> str:
        """Text of the condition of a fact."""
        about = self._schema.attributes[self._facts.names[attribute]]
        literals = self._literals(about, attribute, kind, number)
        joint = " OR " if kind == SOME else " AND "
        return joint.join(print_literal(literal, self._schema) for literal in literals)

    def _literals(self, about: Attribute, attribute: int, kind: int, number: int) -> list[Literal]:
        if kind == ABSENT:
            return [Not(Present(about.name))]
        if kind in (PATTERN, NO_PATTERN):
            pattern = self._encoder.patterns[about.name].pattern(number)
            return [pattern if kind == PATTERN else Not(pattern)]
        if kind > NO_PATTERN:
            column = self._encoder.columns[number]
            versus = Versus(column.attribute, column.operator, column.other)
            return [Not(versus) if kind == NO_VERSUS else versus]
        prefix = self._prefix(attribute, number)
        if prefix is not None:
            return [Like(about.name, prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%")]
        extent = self._extent(about, attribute, number)
        if kind == SOME:
            return list(alternatives_of(extent, about))
        if kind == EVERY and about.multiple:
            excluded = without(everything(about), extent)
            return negatives_of(excluded, about) if excluded else [Present(about.name)]
        return literals_of(extent, about)

    def _codes(self, attribute: int, number: int) -> list[tuple[int, int]]:
        """Ranges of a set, in codes."""
        facts = self._facts
        first = facts.places.firsts[attribute]
        return [
            (int(facts.places.codes[first + facts.lows[i]]), int(facts.places.codes[first + facts.highs[i]]))
            for i in range(facts.set_offsets[number], facts.set_offsets[number + 1])
        ]

    def _prefix(self, attribute: int, number: int) -> str | None:
        """Prefix whose strings a set is, if a filter asks for that prefix."""
        ranges = self._codes(attribute, number)
        dictionary = self._encoder.dictionaries.get(self._facts.names[attribute])
        if len(ranges) != 1 or dictionary is None or not isinstance(dictionary.constants, pa.Array):
            return None
        (low, high), constants = ranges[0], dictionary.constants
        if low % 2 == 0 or high // 2 >= len(constants):
            return None
        prefix, end = constants[low // 2].as_py(), constants[high // 2].as_py()
        return prefix.decode() if high % 2 == 0 and end == prefix + _AFTER_PREFIX else None

    def _extent(self, about: Attribute, attribute: int, number: int) -> Extent:
        dictionary = self._encoder.dictionaries.get(about.name)
        constants: Any = [] if dictionary is None else dictionary.constants
        ((first, last),) = everything(about)
        ranges = []
        for low, high in self._codes(attribute, number):
            # A gap begins after the constant below it, and ends before the one above.
            start = first if low == 0 else _cut(constants, low // 2 - (low % 2 == 0), low % 2 == 0, about)
            end = last if high // 2 >= len(constants) else _cut(constants, high // 2, high % 2 == 1, about)
            ranges.append((start, end))
        return united(ranges)


def _cut(constants: Any, rank: int, after: bool, about: Attribute) -> Cut:
    """Cut before or after a constant."""
    kind = about.domain.kind
    if kind in ("enumerated", "hierarchical", "boolean"):
        return (1, rank + after, 0)
    value = constants[rank].as_py() if isinstance(constants, pa.Array) else constants[rank].item()
    if is_stepped(about):
        return (1, value + after, 0)
    if isinstance(value, bytes):
        if value.endswith(_AFTER_PREFIX):
            ((_, end),) = prefixed(value[:-1].decode())
            return end if len(end) == 3 else END
        value = value.decode()
    return (1, value, int(after))


CONDITIONS = 100
_KIND_BITS, _NUMBER_BITS = 3, 32

ATTRIBUTES = pa.schema(
    [("attribute", pa.string()), ("subscriptions", pa.int64()), ("conditions", pa.int64()), ("presence", pa.float64())]
)
PREDICATES = pa.schema([("attribute", pa.string()), ("condition", pa.string()), ("subscriptions", pa.int64())])


class Usage:
    """Counts of the subscriptions with each condition and attribute; repetitions within one count once.

    A condition is a fact, but for presence where more is asked of the attribute. As many as there are in `keys`:
    attribute, kind and number in one.
    """

    def __init__(self, facts: Facts, classes: Classes) -> None:
        self._facts = facts
        sizes = np.bincount(classes.of[classes.of >= 0], minlength=len(classes))
        owners = np.repeat(np.arange(len(classes)), np.diff(classes.offsets))
        counts = np.diff(facts.offsets)[classes.members]
        starts = facts.offsets[classes.members]
        ends = np.cumsum(counts)
        chosen = np.repeat(starts - (ends - counts), counts) + np.arange(int(counts.sum()))
        of_class = np.repeat(owners, counts)
        asked = ~_is_mere_presence(facts)[chosen]
        keys = _keys(facts)[chosen[asked]]
        self.keys, self.counts = _counted(keys, of_class[asked], sizes)
        self.attributes, self.named = _counted(facts.attributes[chosen].astype(np.int64), of_class, sizes)

    def attribute_table(self, statistics: Statistics | None) -> pa.Table:
        """Attributes, in descending order of use."""
        order = np.argsort(-self.named, kind="stable")
        different = np.bincount(self.keys >> (_KIND_BITS + _NUMBER_BITS), minlength=len(self._facts.names))
        names = [self._facts.names[a] for a in self.attributes[order].tolist()]
        known = {} if statistics is None else statistics.attributes
        presence = [known[name].presence if name in known else None for name in names]
        columns = [names, self.named[order], different[self.attributes[order]], presence]
        return pa.table([pa.array(c, f.type) for c, f in zip(columns, ATTRIBUTES, strict=True)], schema=ATTRIBUTES)

    def predicate_table(self, encoder: Encoder, schema: Schema, most: int = CONDITIONS) -> pa.Table:
        """Most used conditions."""
        wording = Wording(self._facts, encoder, schema)
        order = np.argsort(-self.counts, kind="stable")[:most]
        rows = []
        for key, count in zip(self.keys[order].tolist(), self.counts[order].tolist(), strict=True):
            attribute = key >> (_KIND_BITS + _NUMBER_BITS)
            kind, number = key >> _NUMBER_BITS & 7, key & ((1 << _NUMBER_BITS) - 1)
            text = wording.of(attribute, kind, number)
            rows.append({"attribute": self._facts.names[attribute], "condition": text, "subscriptions": count})
        return pa.Table.from_pylist(rows, PREDICATES)


def _keys(facts: Facts) -> Int64s:
    wide = facts.attributes.astype(np.int64) << (_KIND_BITS + _NUMBER_BITS)
    return wide | facts.kinds.astype(np.int64) << _NUMBER_BITS | facts.numbers


def _is_mere_presence(facts: Facts) -> npt.NDArray[np.bool_]:
    """Mask of the facts that require an attribute's presence only, where other facts of the conjunction imply it."""
    whole = facts.allows_all
    conjunction = np.repeat(np.arange(len(facts)), np.diff(facts.offsets))
    following = np.zeros(len(whole), np.bool_)
    same = (facts.attributes[1:] == facts.attributes[:-1]) & (conjunction[1:] == conjunction[:-1])
    following[:-1] = same & (facts.kinds[1:] != ABSENT)
    versus = facts.kinds >= VERSUS
    compared = conjunction[versus] * len(facts.names) + facts.others[facts.numbers[versus]]
    return whole & (following | np.isin(conjunction * len(facts.names) + facts.attributes, compared))


def _counted(keys: Int64s, of_class: Int64s, sizes: Int64s) -> tuple[Int64s, Int64s]:
    """Distinct keys, and the number of subscriptions in the classes that have each."""
    if not len(keys):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((of_class, keys))
    keys, of_class = keys[order], of_class[order]
    new = np.ones(len(keys), np.bool_)
    new[1:] = (keys[1:] != keys[:-1]) | (of_class[1:] != of_class[:-1])
    keys, of_class = keys[new], of_class[new]
    found, starts = np.unique(keys, return_index=True)
    return found, np.add.reduceat(sizes[of_class], starts)


# History: matches of each subscription over past events, and their statistics.

Events: TypeAlias = Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch]

SAMPLE = 50_000
_ROWS = 8192


@dataclass(frozen=True)
class History:
    """Matches over a history: `matches[n]` of `events` events by subscription n; None where there was no history."""

    events: int = 0
    matches: npt.NDArray[np.int64] | None = None
    statistics: Statistics | None = None


def look_back(level: ColumnarLevel, schema: Schema, events: Events) -> History:
    """Matches all events with a level's subscriptions; statistics are those of the first events."""
    matcher = ColumnarMatcher(schema, [level], None)
    counts, seen = np.zeros(len(level.names), np.int64), 0
    sample: list[pa.Table] = []
    for batch in _batches(schema, events):
        counts += np.bincount(matcher.match(batch).numbers, minlength=len(counts))
        if seen < SAMPLE:
            sample.append(pa.Table.from_batches([batch]).slice(0, SAMPLE - seen))
        seen += len(batch)
    if not seen:
        return History(0, counts)
    return History(seen, counts, Statistics.from_events(pa.concat_tables(sample, promote_options="default")))


def _batches(schema: Schema, events: Any) -> Iterable[pa.RecordBatch]:
    """Canonical batches of the events."""
    if isinstance(events, pa.Table | pa.RecordBatch):
        table = pa.Table.from_batches([events]) if isinstance(events, pa.RecordBatch) else events
        for batch in table.to_batches(max_chunksize=_ROWS):
            yield schema.to_arrow(batch)
    elif isinstance(events, Sequence) and events and isinstance(events[0], Mapping):
        for start in range(0, len(events), _ROWS):
            yield schema.to_arrow(events[start : start + _ROWS])
    else:
        for batch in events:
            yield schema.to_arrow(batch)


# One level of the columnar index with all subscriptions: the basis of every computation here.


def one_level(indexes: Sequence[Index]) -> ColumnarLevel:
    """Level with all subscriptions of some indexes under one schema. The indexes themselves stay as they are."""
    levels = [_columnar(index).folded() for index in indexes]
    return levels[0] if len(levels) == 1 else ColumnarMatcher(indexes[0].schema, levels, None).folded()


def _columnar(index: Index) -> ColumnarMatcher:
    matcher = index.matcher
    if not isinstance(matcher, ColumnarMatcher):
        ids = index.ids()
        texts = pa.array([index.text(id) for id in ids.to_pylist()], pa.large_string())
        matcher = compile(pa.table({"id": ids, "filter": texts}), index.schema).matcher
        assert isinstance(matcher, ColumnarMatcher)
    return matcher


# Entry points.


def analyze(
    subscriptions: Index | GivenTexts,
    schema: Schema | None = None,
    *,
    events: Events | None = None,
    statistics: Statistics | None = None,
) -> Analysis:
    """Analyses a set of subscriptions: an index, or `{id: filter}` or an Arrow table of them with a `schema`.

    Finds those that are duplicate, contradictory, always true or covered by another one; what each costs to match; what
    is asked for most; and, given past `events`, which have matched none of them. Costs are expected under the
    `statistics` if they are given, else under those of the events, else by what the subscriptions ask for.
    """
    if isinstance(subscriptions, Index):
        index = subscriptions
    elif schema is None:
        raise TamisError("subscriptions in the form of texts need the schema they are written for: schema=…")
    else:
        index = compile(subscriptions, schema)
    level = one_level([index])
    history = History() if events is None else look_back(level, index.schema, events)
    return analyze_level(level, index.schema, history, statistics, [*index.errors, *_left_out(index)])


def _left_out(index: Index) -> list[tuple[str, TamisError]]:
    """Subscriptions that cannot be analysed, each with the reason."""
    reason = "it calls operators, and what these say is not known before an event comes: it is not analysed"
    return [(id, FilterError(reason, index.text(id))) for id in index.calling_ids()]


def analyze_level(
    level: ColumnarLevel,
    schema: Schema,
    history: History,
    statistics: Statistics | None,
    refused: Sequence[tuple[str, TamisError]],
    compare: Compare | None = None,
) -> Analysis:
    """Analyses subscriptions in one level, given their history; `compare` says where covers are computed."""
    known = statistics if statistics is not None else history.statistics
    cost = cost_of(level, schema, known)
    facts, distinct = facts_of(level.conjuncts, level.encoder, schema)
    classes = classes_of(level.conjuncts, distinct, facts, len(level.names))
    texts = level.texts.to_arrow()
    forms = _NormalForms(texts, schema)

    def asked(owner: int, other: int) -> Relation:
        a, b = (forms.of(int(classes.first[k])) for k in (owner, other))
        return Relation.NEITHER if a is None or b is None else relate(a, b, schema)

    always = always_true(facts, classes, schema, lambda k: forms.of(int(classes.first[k])) or _FALSE)
    # That what every event matches covers everything goes without saying, and would say nothing of the others.
    covers = find_covers(facts, classes, schema, asked, compare=compare, left_out=always)
    never = never_true(facts, classes, schema)
    found = Found(level.names.ids, texts, classes, covers, always, never, cost, history.matches, history.events)
    usage = Usage(facts, classes)
    return Analysis(
        schema=schema,
        subscriptions=table_of(found),
        attributes=usage.attribute_table(known),
        predicates=usage.predicate_table(level.encoder, schema),
        events=history.events,
        refused=list(refused),
        compared=covers.candidates,
    )


_FALSE = Filter(())


class _NormalForms:
    """Normal forms of texts that are looked at more closely; None for those accepted under wider limits than usual."""

    def __init__(self, texts: pa.Array, schema: Schema) -> None:
        self._texts, self._schema = texts, schema
        self.of = lru_cache(10_000)(self._of)

    def _of(self, number: int) -> Filter | None:
        try:
            return normalise(parse(self._texts[number].as_py(), self._schema), self._schema)
        except FilterError:
            return None
