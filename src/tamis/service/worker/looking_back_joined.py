"""One backtest of a join: what its content would be, had the tables begun empty with the oldest event that is kept."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pyarrow as pa

from tamis.errors import PipelineError
from tamis.joins.server import JoinServer
from tamis.schema import Schema
from tamis.service.store.joined_rows import row_text
from tamis.service.worker.looking_back import Asked, chosen_records, width_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST: Final = 1_000_000  # the tables grow from one event to the next, so all go through the driver
_AT_ONCE: Final = 10_000
_ID: Final = "it"


def look_back_joined(records: DataFrame, schema: Schema, asked: Asked) -> dict[str, Any]:
    """Number of results that came and went over time, and some of those that are there in the end.

    The form is that of a filter's backtest; `rows` is how many results there are in the end, and `samples` are results.
    """
    chosen = chosen_records(records, asked)
    count, first, last = chosen.selectExpr("count(1)", "min(time)", "max(time)").collect()[0]
    if count > _MOST:
        message = f"a backtest of a join looks at {_MOST:,} events at most, and there are {count:,}; narrow it by since"
        raise PipelineError(message)
    window = asked.window or width_of(first, last)
    server = JoinServer(schema, {_ID: asked.filter})
    volume, counts = Counter[datetime](), Counter[datetime]()
    illegible = 0
    ordered = chosen.orderBy("partition", "offset").select("time", "body").toArrow()
    for batch in ordered.to_batches(max_chunksize=_AT_ONCE) if not server.errors else []:
        checked = schema.check_json(batch["body"].cast(pa.string()), ignore_unknown=True)
        illegible += batch.num_rows - len(checked.valid_rows)
        starts = _starts(batch["time"].take(checked.valid_rows), window)
        volume.update(starts)
        changes = server.result_changes(server.apply(checked.valid))
        counts.update(starts[change.event] for change in changes)
    content = [] if server.errors else server.content(_ID)
    return {
        "events": sum(volume.values()),
        "illegible": illegible,
        "window_seconds": window.total_seconds(),
        "volume": _counted(volume),
        "counts": _counted(counts),
        "total": sum(counts.values()),
        "rows": len(content),
        "samples": [orjson.loads(row_text(row)) for row in content[: asked.samples]],
        "errors": [str(error) for _, error in server.errors],
    }


def _starts(times: pa.Array, window: timedelta) -> list[datetime]:
    """The beginning of the window that each moment is in."""
    width = window // timedelta(microseconds=1)
    numbers = np.asarray(times.cast(pa.timestamp("us", "UTC")).cast(pa.int64()))
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return [epoch + timedelta(microseconds=start) for start in (numbers // width * width).tolist()]


def _counted(counted: Counter[datetime]) -> list[list[Any]]:
    return [[start.isoformat(), number] for start, number in sorted(counted.items())]
