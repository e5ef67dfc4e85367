"""Results as JSON texts, a column at a time."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tamis.schema.timestamps import to_datetime
from tamis.schema.values import write_base64


def json_texts(rows: pa.StructArray) -> pa.StringArray:
    """One object a row, without what is absent; equal rows have equal texts."""
    members = [
        pc.binary_join_element_wise(json.dumps(field.name, ensure_ascii=False), _values(column), ": ")
        for field, column in zip(rows.type, rows.flatten(), strict=True)
    ]
    if not members:
        return pa.array(["{}"] * len(rows), pa.string())
    if all(member.null_count for member in members):
        # Where a row lacks all of them Arrow would leave it out.
        led = [pc.coalesce(pc.binary_join_element_wise(", ", member, ""), "") for member in members]
        inside = pc.utf8_slice_codeunits(pc.binary_join_element_wise(*led, ""), 2)
    else:
        inside = pc.binary_join_element_wise(*members, ", ", null_handling="skip")
    return pc.binary_join_element_wise("{", inside, "}", "")


def _values(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        return _floats(column)
    if pa.types.is_timestamp(kind):
        return _by_value(column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()), _instant)
    if pa.types.is_string(kind):
        return _by_value(column, json_value)
    return pa.array([None if value is None else json_value(value) for value in column.to_pylist()], pa.string())


def _floats(column: pa.Array) -> pa.Array:
    texts = column.cast(pa.string())
    if pc.any(pc.equal(pc.floor(column), column)).as_py():
        # A float shows that it is one; infinite ones are written as Python and Spark read them.
        plain = pc.match_substring_regex(texts, "^-?[0-9]+$")
        texts = pc.if_else(plain, pc.binary_join_element_wise(texts, ".0", ""), texts)
        texts = pc.replace_substring(texts, "inf", "Infinity")
    return texts


def _by_value(column: pa.Array, write: Any) -> pa.Array:
    """Each value that occurs is written once."""
    encoded = column.dictionary_encode()
    return pa.array([write(value) for value in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def json_value(value: Any) -> str:
    """A value, or a dict of them; bytes are base64, as in events."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return write_base64(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _instant(microseconds: int) -> str:
    return json_value(to_datetime(microseconds))
