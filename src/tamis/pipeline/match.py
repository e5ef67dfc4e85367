"""`match`: which subscriptions each event satisfies, on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from tamis.engine import Index
from tamis.errors import PipelineError
from tamis.pipeline.frames import SUBSCRIPTION, SUBSCRIPTIONS, kept_columns, places, plainly
from tamis.pipeline.indexes import Subscribed, live, snapshot_of
from tamis.pipeline.sieved import sieved
from tamis.pipeline.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NO_NUMBERS = "a table that changes has no lasting numbers; ask for arrays, or match a saved index"

# A worker repeats so many columns faster than the JVM does. Of more it sends one row an event, for every repeat would
# have to cross over, and the JVM repeats them.
_NARROW = 2

Output = Literal["pairs", "arrays", "numbers"]


def match(
    events: DataFrame,
    subscriptions: Subscribed,
    output: Output = "pairs",
    *,
    keep: Sequence[str] | None = None,
    folder: str | Path | None = None,
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
    """
    if output not in ("pairs", "arrays", "numbers"):
        raise PipelineError(f"there is no output {output!r}; there are pairs, arrays and numbers")
    source = (live if events.isStreaming else snapshot_of)(subscriptions, events.sparkSession, folder)
    if output == "numbers" and not (isinstance(source, Snapshot) and source.frozen):
        raise PipelineError(_NO_NUMBERS)
    kept = kept_columns(events, keep, [SUBSCRIPTION] if output == "pairs" else [])
    if output == "pairs" and len(kept) <= _NARROW:
        return sieved(events, source, keep=keep, pairs=True)
    answer = sieved(events, source, keep=keep, numbers=output == "numbers", every=output != "pairs")
    return exploded(answer) if output == "pairs" else answer


def numbering(subscriptions: Subscribed, session: SparkSession, folder: str | Path | None = None) -> pa.ChunkedArray:
    """The ids behind the numbers that `match` gives: number n is the id at position n."""
    snapshot = snapshot_of(subscriptions, session, folder)
    if not snapshot.frozen:
        raise PipelineError(_NO_NUMBERS)
    ids: list[pa.Array] = []
    for part in snapshot.parts:
        index = Index.open(part.base, verify=False)
        ids += index.match([]).names.chunks
    return pa.chunked_array(ids, pa.string())


def exploded(answer: DataFrame) -> DataFrame:
    """A row a match: `subscription` in place of `subscriptions`."""
    from pyspark.sql import functions

    kept = [name for name in answer.columns if name != SUBSCRIPTIONS]
    (matched,) = places(answer, [SUBSCRIPTIONS])
    return plainly(answer).select(*places(answer, kept), functions.explode(matched)).toDF(*kept, SUBSCRIPTION)
