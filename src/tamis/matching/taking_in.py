"""Subscriptions as they are handed over, `{id: text}` or a table, on their way into a matcher."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import FilterError, SubscriptionError
from tamis.language import Limits, Signatures, bind
from tamis.language.cutting import is_proper
from tamis.matching.matcher import Subscriptions
from tamis.schema import Schema

Texts: TypeAlias = Mapping[str, str] | pa.Table | pa.RecordBatch
"""`{id: filter}`, or an Arrow table with string columns `id` and `filter`."""


def ids_of(subscriptions: Texts) -> pa.Array:
    """The ids as Arrow strings; there are no nulls among them, and none comes twice."""
    ids = _strings(subscriptions) if isinstance(subscriptions, Mapping) else _column(subscriptions, "id")
    if ids is None:
        odd = next(id for id in subscriptions if id is None or not is_proper(id))
        raise SubscriptionError(f"{odd!r} is no id: ids are strings of whole characters")
    if ids.null_count:
        raise SubscriptionError(f"row {pc.index(pc.is_null(ids), True).as_py()} of the subscriptions has no id")
    counted = pc.value_counts(ids)
    repeated = counted.filter(pc.greater(counted.field("counts"), 1))
    if len(repeated):
        raise SubscriptionError(f"the id {repeated[0]['values'].as_py()!r} is given more than once; ids are unique")
    return ids


def texts_of(subscriptions: Texts) -> tuple[pa.Array, pa.Array | list[object]]:
    """The texts as Arrow strings, null where one is none; and what the language is to read.

    These are the same but where Arrow cannot hold all that was given: then the language sees that, and says why it is
    no filter.
    """
    if not isinstance(subscriptions, Mapping):
        column = _column(subscriptions, "filter")
        return column, column
    texts = _strings(subscriptions.values())
    if texts is not None:
        return texts, texts
    given: list[object] = list(subscriptions.values())
    return _strings(text if is_proper(text) else None for text in given), given


def bound(ids: pa.Array, subscriptions: Texts, schema: Schema, limits: Limits, operators: Signatures) -> Subscriptions:
    """The subscriptions with what the language makes of them."""
    texts, read = texts_of(subscriptions)
    return Subscriptions(ids, texts, bind(read, schema, limits, operators))


def refused_of(subscriptions: Subscriptions) -> list[tuple[str, FilterError]]:
    """Those that the language refused, by id."""
    return [(subscriptions.ids[row].as_py(), error) for row, error in subscriptions.bound.errors]


def _strings(values: Iterable[object]) -> pa.Array | None:
    """As Arrow strings; None if some are no strings that Arrow can hold."""
    try:
        return pa.array(list(values), pa.large_string())
    except (pa.ArrowException, UnicodeError, TypeError):
        return None


def _column(table: pa.Table | pa.RecordBatch, name: str) -> pa.Array:
    """A column of strings as one array."""
    if name not in table.schema.names:
        raise SubscriptionError(f"the table of subscriptions has no column {name!r}; it needs 'id' and 'filter'")
    column = table.column(name)
    try:
        wide = column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise SubscriptionError(f"the column {name!r} of the subscriptions must hold strings: {error}") from error
    return wide.combine_chunks() if isinstance(wide, pa.ChunkedArray) else wide
