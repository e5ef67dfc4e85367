"""The filter of one row of a block: a template with its slots filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import pyarrow as pa

from tamis.language.calls import Called, Moment, with_parts
from tamis.language.columns import Column
from tamis.language.predicates import Literal, Not, OneOf, Slot
from tamis.language.pushed import Conjunct

_Called = TypeVar("_Called", bound=Called)


def literals_of(columns: Sequence[Column], count: int) -> list[tuple[Any, ...]]:
    """The literals of a block of so many rows, a tuple a row, in the language's types."""
    if not columns:
        return [()] * count
    listed = [column.to_pylist() if isinstance(column, pa.Array) else column.tolist() for column in columns]
    return list(zip(*listed, strict=True))


def fill_called(leaf: _Called, values: Sequence[Any]) -> _Called:
    """A call or constraint with the values of its slots."""

    def value(part: Any) -> Any:
        if isinstance(part, Moment):
            return Moment(value(part.microseconds))
        return values[part.number] if isinstance(part, Slot) else part

    return with_parts(leaf, value)  # type: ignore[return-value]


def fill_conjunct(conjunct: Conjunct, values: Sequence[Any]) -> Conjunct:
    """A plain conjunct with the values of its slots. It need not be in normal form: it was before there were values."""
    return tuple(_filled(literal, values) for literal in conjunct)


def _filled(literal: Literal, values: Sequence[Any]) -> Literal:
    if isinstance(literal, Not):
        leaf = _filled(literal.leaf, values)
        assert not isinstance(leaf, Not)
        return Not(leaf)
    if isinstance(literal, OneOf):
        listed = {values[one.number] if isinstance(one, Slot) else one for one in literal.values}
        return replace(literal, values=tuple(sorted(listed)))
    slots = {one.name: part for one in fields(literal) if isinstance(part := getattr(literal, one.name), Slot)}
    return replace(literal, **{name: values[slot.number] for name, slot in slots.items()})
