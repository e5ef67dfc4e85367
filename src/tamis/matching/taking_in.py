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
    if not isinstance(subscriptions, Mapping) and not _are_characters(ids):
        odd = next(raw for id in ids if isinstance(raw := _text_or_bytes(id), bytes))
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
    given: list[object]
    if isinstance(subscriptions, Mapping):
        given = list(subscriptions.values())
        if (texts := _strings(given)) is not None:
            return texts, texts
    else:
        texts = _column(subscriptions, "filter")
        if _are_characters(texts):
            return texts, texts
        given = [_text_or_bytes(text) for text in texts]
    return _strings(text if is_proper(text) else None for text in given), given


def bound(ids: pa.Array, subscriptions: Texts, schema: Schema, limits: Limits, operators: Signatures) -> Subscriptions:
    """The subscriptions with what the language makes of them."""
    texts, read = texts_of(subscriptions)
    return Subscriptions(ids, texts, bind(read, schema, limits, operators))


def refused_of(subscriptions: Subscriptions) -> list[tuple[str, FilterError]]:
    """Those that the language refused, by id."""
    return [(subscriptions.ids[row].as_py(), error) for row, error in subscriptions.bound.errors]


def _text_or_bytes(text: pa.Scalar) -> str | bytes | None:
    try:
        return text.as_py()
    except UnicodeDecodeError:
        return text.as_buffer().to_pybytes()


def _are_characters(texts: pa.Array) -> bool:
    """Whether all texts are UTF-8, which Arrow does not check by itself."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _strings(values: Iterable[object]) -> pa.Array | None:
    """As Arrow strings; None if some are no strings that Arrow can hold."""
    listed = list(values)
    if not all(issubclass(kind, str | None) for kind in set(map(type, listed))):
        return None
    try:
        return pa.array(listed, pa.large_string())
    except (pa.ArrowException, UnicodeError, TypeError):
        return None


def _column(table: pa.Table | pa.RecordBatch, name: str) -> pa.Array:
    """A column of strings as one array."""
    if not isinstance(table, pa.Table | pa.RecordBatch):
        found = type(table).__name__
        raise SubscriptionError(f"subscriptions are {{id: filter}} or an Arrow table of 'id' and 'filter', not {found}")
    count = table.schema.names.count(name)
    if count != 1:
        found = "no column" if not count else f"{count} columns"
        raise SubscriptionError(f"the table of subscriptions has {found} {name!r}; it needs 'id' and 'filter'")
    column = table.column(name)
    try:
        wide = column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise SubscriptionError(f"the column {name!r} of the subscriptions must hold strings: {error}") from error
    return wide.combine_chunks() if isinstance(wide, pa.ChunkedArray) else wide
