"""Matching of event DataFrames on Spark, and the keys that identify events and notifications across replays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from tamis.engine import Index, Operators
from tamis.errors import PipelineError
from tamis.pipeline.frames import BINDINGS, SUBSCRIPTION, SUBSCRIPTIONS, kept_columns, places, plainly, sieved
from tamis.pipeline.indexes import Subscribed, live, snapshot_of
from tamis.pipeline.table.subscriptions import Snapshot
from tamis.pipeline.workers.charging import Form

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_NO_NUMBERS = "a table that changes has no lasting numbers; ask for arrays, or match a saved index"

# Up to this many columns, a worker repeats a row for each match faster than the JVM does. With more, it sends one row
# an event, and the JVM repeats them: every repeat would have to cross over.
_NARROW = 2

Output = Literal["pairs", "arrays", "numbers"]


def match(
    events: DataFrame,
    subscriptions: Subscribed,
    output: Output = "pairs",
    *,
    keep: Sequence[str] | None = None,
    folder: str | Path | None = None,
    operators: Operators | None = None,
    bindings: bool | None = None,
) -> DataFrame:
    """Matches a DataFrame of events, batch or streaming, with an index, a saved one's path, shards, or a table.

    Columns are attributes by name; other columns are passed by. `output`:

    - `pairs`: a row a match, the event's columns and `subscription`;
    - `arrays`: a row an event, its columns and `subscriptions`, an array of ids, empty where nothing matched;
    - `numbers`: the same with numbers instead of ids, which is the cheapest (`numbering` tells the ids).

    `keep` names the columns of the event that the answer has, all by default; fewer cost less. Workers map the index
    into memory from its folder; an index that is not saved is saved under `folder`, which all workers must see (on a
    local master it may be left out). A value that its attribute's domain does not have fails the query: `validate`
    first where that can happen. On a stream, an index stays as it is when this is called, and a table is followed:
    each micro-batch takes its newest version, and takes the same one again if it is replayed.

    Where filters may call operators, there is also a column `bindings`: a map from the names of the filter's variables
    to what they are bound to, as texts (in `arrays` an array of these beside `subscriptions`; none in `numbers`), null
    for a filter without variables; `bindings` says whether it is wanted. `operators` are those that the subscriptions
    under a path call, if no installed package offers them.
    """
    if output not in ("pairs", "arrays", "numbers"):
        raise PipelineError(f"there is no output {output!r}; there are pairs, arrays and numbers")
    source = (live if events.isStreaming else snapshot_of)(subscriptions, events.sparkSession, folder, operators)
    if output == "numbers" and not (isinstance(source, Snapshot) and source.frozen):
        raise PipelineError(_NO_NUMBERS)
    if bindings is None:
        bindings = source.crew is not None and output != "numbers"
    form: Form | None = "map" if bindings else None
    kept = kept_columns(events, keep, [SUBSCRIPTION] if output == "pairs" else [])
    if output == "pairs" and len(kept) <= _NARROW:
        return sieved(events, source, keep=keep, pairs=True, bindings=form)
    answer = sieved(events, source, keep=keep, numbers=output == "numbers", every=output != "pairs", bindings=form)
    return exploded(answer) if output == "pairs" else answer


def numbering(
    subscriptions: Subscribed,
    session: SparkSession,
    folder: str | Path | None = None,
    operators: Operators | None = None,
) -> pa.ChunkedArray:
    """Ids behind the numbers that `match` returns: number n is the id at position n."""
    snapshot = snapshot_of(subscriptions, session, folder, operators)
    if not snapshot.frozen:
        raise PipelineError(_NO_NUMBERS)
    ids: list[pa.Array] = []
    for part in snapshot.parts:
        crew = None if snapshot.crew is None else snapshot.crew.unpacked()
        index = Index.open(part.base, verify=False, operators=crew)
        ids += index.match([]).names.chunks
    return pa.chunked_array(ids, pa.string())


def exploded(answer: DataFrame) -> DataFrame:
    """Row per match: `subscription` in place of `subscriptions`, and one of the `bindings`, if there are any."""
    from pyspark.sql import functions

    several = [SUBSCRIPTIONS, *([BINDINGS] if _has_bindings(answer) else [])]
    kept = [name for name in answer.columns if name not in several]
    matched = places(answer, several)
    single = functions.explode(matched[0]) if len(several) == 1 else functions.inline(functions.arrays_zip(*matched))
    names = [SUBSCRIPTION, *several[1:]]
    return plainly(answer).select(*places(answer, kept), single).toDF(*kept, *names)


def _has_bindings(answer: DataFrame) -> bool:
    """True if the column of that name is the one beside the subscriptions, and not the event's."""
    at = answer.columns.index(SUBSCRIPTIONS) + 1
    return answer.columns[at : at + 1] == [BINDINGS]


# Keys of events and notifications that stay equal however often a batch is run.

EVENT_KEY = "event_key"
NOTIFICATION = "notification"

_LETTERS = 32


def with_event_key(events: DataFrame, key: Sequence[str] | None = None) -> DataFrame:
    """Adds `event_key`, a hash of the columns that identify an event: all of them unless `key` names some.

    Two events with equal keys are one and the same when deduplicated. Where equal events can happen and must be told
    apart, name columns that differ: Kafka's topic, partition and offset, or an id that the publisher gives.
    """
    from pyspark.sql import functions

    names = events.columns if key is None else list(key)
    unknown = [name for name in names if name not in events.columns]
    if unknown or not names:
        raise PipelineError(
            f"no column {unknown[0] if unknown else ''!r} to know an event by; there are {events.columns}"
        )
    known_by = [functions.col(place).alias(name) for place, name in zip(places(events, names), names, strict=True)]
    hashed = functions.sha2(functions.to_json(functions.struct(*known_by)), 256)
    keyed = plainly(events).withColumn(EVENT_KEY, functions.substring(hashed, 1, _LETTERS))
    return keyed.toDF(*events.columns, EVENT_KEY)


def with_notification(pairs: DataFrame) -> DataFrame:
    """Adds `notification`: the event's key, a colon, the subscription's id."""
    from pyspark.sql import functions

    return pairs.withColumn(NOTIFICATION, functions.concat_ws(":", EVENT_KEY, SUBSCRIPTION))
