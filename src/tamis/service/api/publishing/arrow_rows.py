"""Arrow IPC streams: a row an event, a column an attribute, null where it is absent."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import orjson
import pyarrow as pa

from tamis.schema.values import write_base64
from tamis.service.api.problems import Problem
from tamis.service.api.publishing.arrow_weight import long_name, unpacked_bytes, weight
from tamis.service.api.publishing.incoming import malformed

_VALUES_AT_ONCE: Final = 1 << 16  # that are Python objects at a time: each takes many times what it weighs


def read_arrow(body: bytes, most_rows: int, most_bytes: int) -> pa.Array:
    """The rows as JSON texts; 400 if the bytes are no Arrow stream. At most one row more than `most_rows` is read.

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
        raise malformed(f"the body is no Arrow stream that can be read: {str(error)[:200]}") from None
    return pa.array(texts, pa.large_string())


def _too_much(most_bytes: int) -> Problem:
    return Problem(413, "too-large", f"the rows come to more than {most_bytes:,} bytes; send fewer at a time")


def row_text(row: dict[str, Any]) -> str:
    """A row as JSON, without what is absent."""
    present = {name: value for name, value in row.items() if value is not None}
    return orjson.dumps(present, default=_plain, option=orjson.OPT_UTC_Z).decode()


def _plain(value: object) -> object:
    """What JSON has no form of: the same as a value that the schema reads back."""
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
