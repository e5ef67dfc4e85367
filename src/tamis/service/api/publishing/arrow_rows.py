"""Arrow IPC streams: a row an event, a column an attribute, null where it is absent."""

from __future__ import annotations

import base64
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa

from tamis.service.api.publishing.incoming import malformed


def read_arrow(body: bytes, most_rows: int) -> pa.Array:
    """The rows as JSON texts; 400 if the bytes are no Arrow stream. At most one row more than `most_rows` is read."""
    texts: list[str] = []
    try:
        with pa.ipc.open_stream(pa.BufferReader(body)) as stream:
            for batch in stream:
                # Lengths and offsets in the bytes are the sender's word, and wrong ones would be followed anywhere.
                batch.validate(full=True)
                texts += [_text(row) for row in batch.slice(0, most_rows + 1 - len(texts)).to_pylist()]
                if len(texts) > most_rows:
                    break
    except (pa.ArrowException, OSError, ValueError, OverflowError, UnicodeDecodeError, TypeError) as error:
        raise malformed(f"the body is no Arrow stream that can be read: {str(error)[:200]}") from None
    return pa.array(texts, pa.large_string())


def _text(row: dict[str, Any]) -> str:
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
            return base64.b64encode(value).decode()
    raise TypeError(f"a column of type {type(value).__name__} has no place in an event")
