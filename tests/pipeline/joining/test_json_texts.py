"""Results as JSON: what is written is read back as it was."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="the Spark extra is not installed")

from tamis.pipeline.joining.packing import as_texts, json_texts


def test_every_kind_of_value_is_read_back() -> None:
    when = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    rows: list[dict[str, Any]] = [
        {"whole": 3, "float": 7.0, "text": 'a "quoted"\n名', "yes": True, "when": when, "many": ["a", "b"]},
        {"whole": -(1 << 62), "float": -1e300, "text": "", "yes": False, "many": []},
        {"float": float("inf")},
        {"float": 0.1},
        {},
    ]
    types = [("whole", pa.int64()), ("float", pa.float64()), ("text", pa.string()), ("yes", pa.bool_())]
    kind = pa.struct([*types, ("when", pa.timestamp("us", "UTC")), ("many", pa.list_(pa.string()))])
    texts = json_texts(pa.array(rows, kind)).to_pylist()
    assert [json.loads(text) for text in texts] == [rows[0] | {"when": when.isoformat()}, *rows[1:]]
    assert '"float": 7.0' in texts[0]


def test_bytes_are_base64_in_results_and_in_dead_letters() -> None:
    rows = pa.array([{"photo": b"\xffPNG"}], pa.struct([("photo", pa.binary())]))
    assert json_texts(rows).to_pylist() == ['{"photo": "/1BORw=="}']
    assert as_texts(pa.RecordBatch.from_struct_array(rows)).to_pylist() == ['{"photo": "/1BORw=="}']


def test_a_time_beyond_the_calendar_is_a_number() -> None:
    rows = pa.StructArray.from_arrays([pa.array([1 << 62], pa.int64()).cast(pa.timestamp("us", "UTC"))], ["when"])
    assert json_texts(rows).to_pylist() == [f'{{"when": {1 << 62}}}']
