"""Arrow IPC streams of events: rows as JSON texts, null where absent; their weight; and decompressed sizes, read from
the stream's metadata.

The size of a stream is computed from its metadata, before anything is decompressed or made a Python object: buffers may
be compressed, rows may share one value of a dictionary, and a list of nulls takes no bytes however long.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tamis.schema.values import write_base64
from tamis.service.intake.problems import Problem

_VALUES_AT_ONCE: Final = 1 << 16  # that are Python objects at a time: each takes many times what it weighs
_VALUE_BYTES: Final = 4  # that any value is counted as, for the memory it takes on its way
_LONGEST_NAME: Final = 1 << 10

# Constants of Arrow's format: the kinds of messages, and the places of fields in its tables (Message.fbs).
_DICTIONARY, _BATCH = 2, 3
_VERSION, _HEADER_KIND, _HEADER = 0, 1, 2
_V5: Final = 4  # since Arrow 1.0; before, compression was told in another place
_DATA = 1
_BUFFERS, _COMPRESSION = 2, 3


def read_arrow(body: bytes, most_rows: int, most_bytes: int) -> pa.Array:
    """Rows as JSON texts; 400 if the bytes are no Arrow stream. At most one row more than `most_rows` is read.

    A few bytes of Arrow can stand for any number of values, so what they come to is found out before they are unpacked:
    more than `most_bytes` is a 413, as it would be if the same events were sent as JSON.
    """
    texts: list[str] = []
    try:
        if unpacked_bytes(body) > most_bytes:
            raise _too_much(most_bytes)
        room = most_bytes
        with pa.ipc.open_stream(pa.BufferReader(body)) as stream:
            if (name := long_name(stream.schema)) is not None:
                raise Problem(
                    413, "too-large", f"a column's name has {len(name):,} characters, and may have 1,024 bytes"
                )
            for batch in stream:
                # Lengths and offsets in the bytes are the sender's word, and wrong ones would be followed anywhere.
                batch.validate(full=True)
                rows = batch.slice(0, most_rows + 1 - len(texts))
                room -= weight(rows)
                if room < 0:
                    raise _too_much(most_bytes)
                step = max(1, _VALUES_AT_ONCE // max(1, rows.num_columns))
                for start in range(0, rows.num_rows, step):
                    texts += [row_text(row) for row in rows.slice(start, step).to_pylist()]
                if len(texts) > most_rows:
                    break
    except (pa.ArrowException, OSError, ValueError, OverflowError, UnicodeDecodeError, TypeError) as error:
        raise Problem(400, "json", f"the body is no Arrow stream that can be read: {str(error)[:200]}") from None
    return pa.array(texts, pa.large_string())


def _too_much(most_bytes: int) -> Problem:
    return Problem(413, "too-large", f"the rows come to more than {most_bytes:,} bytes; send fewer at a time")


def row_text(row: dict[str, Any]) -> str:
    """Row as JSON, without absent attributes."""
    present = {name: value for name, value in row.items() if value is not None}
    return orjson.dumps(present, default=_plain, option=orjson.OPT_UTC_Z).decode()


def _plain(value: object) -> object:
    """Value without a JSON form, as one that the schema parses back."""
    match value:
        case datetime():
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
        case date():
            return value.isoformat()
        case Decimal():
            return float(value)
        case bytes():
            return write_base64(value)
    raise TypeError(f"a column of type {type(value).__name__} has no place in an event")


def long_name(fields: Iterable[pa.Field]) -> str | None:
    """First name among columns and their members that is too long for an attribute; None if none is."""
    for field in fields:
        if len(field.name.encode()) > _LONGEST_NAME:
            return str(field.name)
        within = [field.type.field(index) for index in range(field.type.num_fields)]
        if (found := long_name(within)) is not None:
            return found
    return None


def weight(rows: pa.RecordBatch) -> int:
    """Approximate size of the rows as JSON text, in bytes; TypeError for a type that no event needs.

    Every row that has a value says its column's name, and every struct the names of all its members.
    """
    named = zip(rows.schema.names, rows.columns, strict=True)
    return sum(_name_bytes(name) * (len(column) - column.null_count) + _weight(column) for name, column in named)


def _weight(column: pa.Array) -> int:
    kind = column.type
    if pa.types.is_struct(kind):
        names = sum(_name_bytes(kind.field(index).name) for index in range(kind.num_fields))
        present = len(column) - column.null_count
        return len(column) + names * present + sum(map(_weight, column.flatten()))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _VALUE_BYTES * len(column) + _weight(column.flatten())
    if pa.types.is_dictionary(kind):
        return _VALUE_BYTES * len(column) + _looked_up(column)
    if _is_bytes(kind):
        return _VALUE_BYTES * len(column) + (pc.sum(pc.binary_length(column)).as_py() or 0)
    if pa.types.is_primitive(kind) or pa.types.is_null(kind) or pa.types.is_decimal(kind):
        return _VALUE_BYTES * len(column)
    raise TypeError(f"a column of type {kind} is not taken; cast it")


def _name_bytes(name: str) -> int:
    return len(orjson.dumps(name))


def _looked_up(column: pa.DictionaryArray) -> int:
    """Bytes of the dictionary values that the rows name, each as often as it is named."""
    if not _is_bytes(column.dictionary.type):
        if pa.types.is_primitive(column.dictionary.type):
            return 0
        raise TypeError(f"a column of type {column.type} is not taken; cast it")
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return pc.sum(lengths.take(column.indices)).as_py() or 0


def _is_bytes(kind: pa.DataType) -> bool:
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    is_binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return is_text or is_binary


def unpacked_bytes(body: bytes) -> int:
    """Decompressed size of a stream's buffers, by their own declaration.

    No more is ever written than a buffer says: it is decompressed into as much memory.
    """
    messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(body))
    total = 0
    for message in messages:
        if message.body is not None:
            total += sum(_lengths(memoryview(message.metadata), memoryview(message.body)))
    return total


def _lengths(metadata: memoryview, content: memoryview) -> Iterator[int]:
    """Decompressed length of each buffer of a message; Arrow has verified the metadata's own offsets."""
    message = _Table(metadata, _number("<I", metadata, 0))
    if not message.place(_VERSION) or _number("<h", metadata, message.place(_VERSION)) < _V5:
        raise ValueError("it was written for an Arrow before 1.0")
    kind = _number("<B", metadata, message.place(_HEADER_KIND))
    if kind not in (_DICTIONARY, _BATCH):
        return
    batch = message.table(_HEADER)
    if kind == _DICTIONARY:
        batch = batch.table(_DATA)
    at = batch.vector(_BUFFERS)
    count = _number("<I", metadata, at)
    buffers = np.frombuffer(metadata, "<i8", 2 * count, at + 4).reshape(-1, 2)
    for offset, length in buffers.tolist():
        if not batch.place(_COMPRESSION) or length == 0:
            unpacked = length
        else:
            unpacked = _number("<q", content, offset)
            # -1 marks a buffer that was not worth compressing.
            unpacked = length if unpacked == -1 else unpacked
        if offset < 0 or unpacked < 0:
            raise ValueError("a buffer has a negative length")
        yield unpacked


class _Table:
    """Table of a FlatBuffer: the places of its fields are in a list that it points back to."""

    def __init__(self, data: memoryview, at: int) -> None:
        self._data = data
        self._at = at
        self._fields = at - _number("<i", data, at)

    def place(self, field: int) -> int:
        """Position of a field; 0 if it was left out."""
        entry = 4 + 2 * field
        if entry >= _number("<H", self._data, self._fields):
            return 0
        offset = _number("<H", self._data, self._fields + entry)
        return self._at + offset if offset else 0

    def vector(self, field: int) -> int:
        """Beginning of the vector, or table, that a field points to."""
        place = self.place(field)
        if not place:
            raise ValueError("a message lacks its buffers")
        return place + _number("<I", self._data, place)

    def table(self, field: int) -> _Table:
        return _Table(self._data, self.vector(field))


def _number(form: str, data: memoryview, at: int) -> int:
    try:
        number: int = struct.unpack_from(form, data, at)[0]
    except struct.error as error:
        raise ValueError(f"a message is cut off: {error}") from None
    return number
