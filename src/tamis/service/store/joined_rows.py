"""Results of joins on their way to the outside: ids, rows as JSON, and stored rows of tables read back."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import orjson
import pyarrow as pa

from tamis.joins.arrivals import Identity, Result, Shown
from tamis.joins.intake import TableRecord
from tamis.schema import Schema
from tamis.schema.values import write_base64
from tamis.service.store.database import StoreError
from tamis.service.store.joins import StoredRow, StoredTable

_OPTIONS: Final = orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z


def result_id(result: Result) -> str:
    """Id of a result, a function of the rows' keys: a result that changes keeps it."""
    return "res_" + blake2b(orjson.dumps(result), digest_size=12).hexdigest()


def row_text(shown: Shown) -> str:
    """A result as JSON; bytes are base64, as in events."""
    return orjson.dumps(shown, default=_in_json, option=_OPTIONS).decode()


def changed_text(changes: Sequence[tuple[str, str, str]], *, begins: bool = False) -> str:
    """Changes of a notification as JSON: each (added or removed), with the result's id and row.

    `begins`: what the subscriber held before, if anything, counts no more.
    """
    listed = [{"change": change, "id": id, "row": orjson.Fragment(row)} for change, id, row in changes]
    return orjson.dumps([{"change": "begins"}, *listed] if begins else listed).decode()


def key_text(identity: Identity) -> str:
    """Key of a table's row, as JSON."""
    return orjson.dumps(identity).decode()


def read_table(stored: StoredTable, name: str, schema: Schema) -> TableRecord:
    """A table as it was taken in."""
    identities, batch = read_rows(stored.rows, schema)
    numbered = None if schema.tables[name].key else [int(str(identity[0])) for identity in identities]
    return TableRecord(batch, numbered, stored.arrived, stored.latest)


def read_rows(stored: Sequence[StoredRow], schema: Schema) -> tuple[list[Identity], pa.RecordBatch]:
    """Rows as they were taken in: what tells them apart, and the events that they changed by."""
    checked = schema.check_json(pa.array([row.body for row in stored], pa.string()), ignore_unknown=True)
    if len(checked.valid_rows) != len(stored):
        reasons = "; ".join(checked.violations["message"].to_pylist()[:3])
        raise StoreError(f"rows of tables in the store do not fit the schema: {reasons}")
    return [tuple(orjson.loads(row.key)) for row in stored], checked.valid


def _in_json(value: object) -> str:
    if isinstance(value, bytes):
        return write_base64(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
