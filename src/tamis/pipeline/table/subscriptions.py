"""Subscriptions in any form a user may have them, as one Arrow table."""

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
    """`rows` has the string columns id and filter, ids there and there once; `places` are their positions among the
    rows given, and `refused` tells what was left out."""

    rows: pa.Table
    places: npt.NDArray[np.int64]
    refused: list[tuple[str, TamisError]]


def listed(subscriptions: Mapping[str, str] | pa.Table | pa.RecordBatch | DataFrame) -> Listed:
    """The subscriptions of a dict, an Arrow table or a DataFrame.

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
    """Leaves out rows without an id and rows that share one."""
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
    """Complains where a table of subscriptions lacks one of its two columns."""
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


# What a worker needs to know to open the subscriptions as they were at one moment: paths, nothing of size.


@dataclass(frozen=True, slots=True)
class Part:
    """A saved index, and the change files to be applied to it in order. All of them are frozen: a path, once written,
    always stands for the same content, so an opened part may be kept under its name."""

    base: str
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Subscriptions as of one moment: the union of its parts, which share no subscription.

    One part is the rule; several are shards, of which a worker has one open at a time. `crew` are the operators that
    its filters may call, None where there are none. At the `desk`, a folder, workers tell what slow conditions took,
    and hear which subscriptions are left out; None: nobody wants to know.
    """

    schema: Schema
    parts: tuple[Part, ...]
    crew: Crew | None = None
    desk: str | None = None

    @property
    def frozen(self) -> bool:
        """True if these are just saved indexes, whose subscriptions have the same numbers in every worker."""
        return not any(part.changes for part in self.parts)
