"""`analyze`: everything that can be said of a set of subscriptions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa

from tamis.analysis.cost_model import cost_of
from tamis.analysis.findings import Analysis, Found, always_true, never_true, table_of
from tamis.analysis.hot import Events, History, Usage, look_back, one_level
from tamis.engine import Index, compile
from tamis.errors import FilterError, TamisError
from tamis.language import Filter, normalise, parse
from tamis.matching.base.statistics import Statistics
from tamis.matching.columnar.level import Level
from tamis.matching.taking_in import Texts
from tamis.routing.covering import Relation, relate
from tamis.routing.covering.facts.facts import facts_of
from tamis.routing.covering.search.covers import Compare, find_covers
from tamis.routing.covering.search.ground import classes_of
from tamis.schema import Schema


def analyze(
    subscriptions: Index | Texts,
    schema: Schema | None = None,
    *,
    events: Events | None = None,
    statistics: Statistics | None = None,
) -> Analysis:
    """Looks at subscriptions as a whole: an index, or `{id: filter}` or an Arrow table of them with a `schema`.

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
    """Subscriptions that nothing can be said of, each with the reason."""
    reason = "it calls operators, and what these say is not known before an event comes: it is not analysed"
    return [(id, FilterError(reason, index.text(id))) for id in index.calling_ids()]


def analyze_level(
    level: Level,
    schema: Schema,
    history: History,
    statistics: Statistics | None,
    refused: Sequence[tuple[str, TamisError]],
    compare: Compare | None = None,
) -> Analysis:
    """Analyses subscriptions in one level, of which the history is known; `compare` says where covers are found."""
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
