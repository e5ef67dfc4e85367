"""Subscriptions in any form that users have them (dict, Arrow, DataFrame) as one Arrow table, and snapshots for
workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import SubscriptionError, TamisError
from tamis.pipeline.table.calling import Crew
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_SHOWN_TEXT = 60


@dataclass(frozen=True, slots=True)
class Listed:
    """Subscriptions with unique ids: `rows` has the string columns id and filter, `places` are their positions among
    the rows given, and `refused` has the others with their errors.
    """

    rows: pa.Table
    places: npt.NDArray[np.int64]
    refused: list[tuple[str, TamisError]]


def listed(subscriptions: Mapping[str, str] | pa.Table | pa.RecordBatch | DataFrame) -> Listed:
    """Subscriptions of a dict, an Arrow table or a DataFrame.

    Rows have no order in a DataFrame, so of an id that is given twice neither filter is taken.
    """
    if isinstance(subscriptions, Mapping):
        ids, filters = list(subscriptions), list(subscriptions.values())
        return sifted(pa.table({"id": _strings(ids, "id"), "filter": _strings(filters, "filter")}))
    if not isinstance(subscriptions, pa.Table | pa.RecordBatch):
        require_columns(subscriptions.columns)
        return sifted(subscriptions.select("id", "filter").toArrow())
    require_columns(subscriptions.schema.names)
    return sifted(pa.table({name: _strings(subscriptions.column(name), name) for name in ("id", "filter")}))


def sifted(rows: pa.Table) -> Listed:
    """Drops rows without an id and rows that share one."""
    refused: list[tuple[str, TamisError]] = []
    bad = pc.is_null(rows["id"])
    for text in rows.filter(bad)["filter"].to_pylist():
        shown = "" if text is None else text[:_SHOWN_TEXT]
        refused.append(("", SubscriptionError(f"a subscription without an id ({shown!r}) cannot be told apart")))
    counted = pc.value_counts(rows["id"].drop_null())
    repeated = counted.filter(pc.greater(counted.field("counts"), 1))
    refused += [
        (row["values"], SubscriptionError(f"the id {row['values']!r} is given {row['counts']} times; ids are unique"))
        for row in repeated.to_pylist()
    ]
    places = np.arange(rows.num_rows)
    if refused:
        bad = pc.or_(bad, pc.is_in(rows["id"], value_set=repeated.field("values")))
        places = np.flatnonzero(~np.asarray(bad))
        rows = rows.take(pa.array(places))
    return Listed(rows, places, refused)


def require_columns(names: list[str]) -> None:
    """Raises an error where a table of subscriptions lacks one of its two columns."""
    missing = [name for name in ("id", "filter") if name not in names]
    if missing:
        raise SubscriptionError(
            f"the table of subscriptions has no column {' and '.join(map(repr, missing))}; it has {', '.join(names)}"
        )


def _strings(values: list[object] | pa.Array | pa.ChunkedArray, name: str) -> pa.Array | pa.ChunkedArray:
    try:
        return pa.array(values, pa.string()) if isinstance(values, list) else values.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise SubscriptionError(f"the column {name!r} of the subscriptions must hold strings: {error}") from error


# Snapshots: paths from which a worker opens the subscriptions as of one moment; nothing of size.


@dataclass(frozen=True, slots=True)
class Part:
    """Saved index, and the change files to be applied to it in order. All of them are frozen: a path, once written,
    always stands for one content, so an opened part may be cached by its name.
    """

    base: str
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Snapshot of subscriptions as of one moment: the union of its parts, which share no subscription.

    Usually one part; several are shards, of which a worker has one open at a time. `crew` are the operators that its
    filters may call, None without any. At the `desk`, a folder, workers report the cost of slow conditions, and read
    which subscriptions are excluded; None: no reports.
    """

    schema: Schema
    parts: tuple[Part, ...]
    crew: Crew | None = None
    desk: str | None = None

    @property
    def frozen(self) -> bool:
        """True if all parts are plain saved indexes, whose subscriptions have equal numbers in every worker."""
        return not any(part.changes for part in self.parts)
