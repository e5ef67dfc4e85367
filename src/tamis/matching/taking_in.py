"""Intake of subscriptions given as `{id: text}` or a table: ids checked, texts parsed, filters and joins told apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import FilterError, SubscriptionError
from tamis.language import DEFAULT_LIMITS, NO_OPERATORS, Bound, Limits, Signatures, bind
from tamis.language.cutting import is_proper
from tamis.language.joins import BoundJoins, are_joins, bind_joins
from tamis.matching.base.matcher import Subscriptions
from tamis.schema import Schema

GivenTexts: TypeAlias = Mapping[str, str] | pa.Table | pa.RecordBatch
"""`{id: filter}`, or an Arrow table with string columns `id` and `filter`."""


def ids_of(subscriptions: GivenTexts) -> pa.Array:
    """Ids as Arrow strings: no nulls, no duplicates."""
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


def texts_of(subscriptions: GivenTexts) -> tuple[pa.Array, pa.Array | list[object]]:
    """GivenTexts as Arrow strings, null where one is none; and the texts for the language to read.

    These are the same unless Arrow cannot hold all that was given: then the language sees that, and says why it is no
    filter.
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


@dataclass(frozen=True, slots=True)
class JoinSubscriptions:
    """Joins that the language has read: row i has id `ids[i]` and text `texts[i]`; refused ones are in no block."""

    ids: pa.Array
    texts: pa.Array
    bound: BoundJoins


@dataclass(frozen=True, slots=True)
class BoundSubscriptions:
    """Filters and joins that the language has read; `joins` is None where there are none.

    No id stands twice, neither among the filters and joins nor between the two.
    """

    filters: Subscriptions
    joins: JoinSubscriptions | None = None

    @property
    def plain(self) -> Subscriptions:
        """Filters that call no operator; the same object where none does."""
        called = self.filters.bound.called
        if not called:
            return self.filters
        plain = np.ones(self.filters.bound.count, np.bool_)
        for block in called:
            plain[block.rows] = False
        return self.filters.only(plain)

    def __len__(self) -> int:
        return sum(len(some.ids) for some in self._kinds)

    @property
    def ids(self) -> list[str]:
        """All ids, those of refused texts included."""
        return [id for some in self._kinds for id in some.ids.to_pylist()]

    @property
    def refused(self) -> list[tuple[str, FilterError]]:
        """Refusals of the language, by id."""
        return [(some.ids[row].as_py(), error) for some in self._kinds for row, error in some.bound.errors]

    def accepted(self) -> BoundSubscriptions:
        """Subscriptions that the language did not refuse; the same object where none was refused."""
        if not any(some.bound.errors for some in self._kinds):
            return self
        joins = self.joins
        if joins is not None and joins.bound.errors:
            rows = _sound(joins.bound)
            mask, place = pa.array(rows), np.cumsum(rows) - 1
            blocks = [replace(block, rows=place[block.rows]) for block in joins.bound.blocks]
            bound = BoundJoins(int(rows.sum()), blocks)
            joins = JoinSubscriptions(joins.ids.filter(mask), joins.texts.filter(mask), bound)
        filters = self.filters
        return BoundSubscriptions(filters.only(_sound(filters.bound)) if filters.bound.errors else filters, joins)

    def texts(self) -> pa.Table:
        """Table with the columns `id` and `filter`."""
        return pa.concat_tables(pa.table({"id": some.ids, "filter": some.texts}) for some in self._kinds)

    @property
    def _kinds(self) -> tuple[Subscriptions | JoinSubscriptions, ...]:
        return (self.filters,) if self.joins is None else (self.filters, self.joins)


def bound_subscriptions(
    subscriptions: GivenTexts, schema: Schema, limits: Limits = DEFAULT_LIMITS, operators: Signatures = NO_OPERATORS
) -> BoundSubscriptions:
    """Reads ids and texts once; a text that begins with SELECT is a join where the schema has tables."""
    ids = ids_of(subscriptions)
    texts, read = texts_of(subscriptions)
    joined = are_joins(texts) if schema.tables else np.zeros(0, np.bool_)
    if not joined.any():
        return BoundSubscriptions(Subscriptions(ids, texts, bind(read, schema, limits, operators)))
    mask, rest = pa.array(joined), pa.array(~joined)
    if isinstance(read, list):
        read = [text for text, is_join in zip(read, joined.tolist(), strict=True) if not is_join]
    else:
        read = read.filter(rest)
    filters = Subscriptions(ids.filter(rest), texts.filter(rest), bind(read, schema, limits, operators))
    texts = texts.filter(mask)
    return BoundSubscriptions(filters, JoinSubscriptions(ids.filter(mask), texts, bind_joins(texts, schema, limits)))


def bound_joins(subscriptions: GivenTexts, schema: Schema, limits: Limits) -> JoinSubscriptions:
    """Reads texts all of which are to be joins."""
    ids = ids_of(subscriptions)
    texts, read = texts_of(subscriptions)
    return JoinSubscriptions(ids, texts, bind_joins(read, schema, limits))


def _sound(bound: Bound | BoundJoins) -> npt.NDArray[np.bool_]:
    """Rows without errors."""
    sound = np.ones(bound.count, np.bool_)
    sound[[row for row, _ in bound.errors]] = False
    return sound


def _text_or_bytes(text: pa.Scalar) -> str | bytes | None:
    try:
        return text.as_py()
    except UnicodeDecodeError:
        return text.as_buffer().to_pybytes()


def _are_characters(texts: pa.Array) -> bool:
    """True if all texts are UTF-8, which Arrow does not check by itself."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _strings(values: Iterable[object]) -> pa.Array | None:
    """GivenTexts as Arrow strings; None if some are no strings that Arrow can hold."""
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
