"""Statistics of a sample: presence, frequent values, quantiles; the same after a trip through JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from tamis.errors import StatisticsError
from tamis.matching.base.statistics import HEAVY_COUNT, QUANTILES, AttributeStatistics, Statistics
from tamis.testing import Generated, workloads
from tests.matching.columnar.subject import SCHEMA


def of(events: list[dict[str, Any]]) -> dict[str, AttributeStatistics]:
    return dict(Statistics.from_events(SCHEMA.to_arrow(events)).attributes)


def test_presence_counts_events_not_values() -> None:
    known = of([{"n": 1, "tags": ["a", "b"]}, {"tags": []}, {"n": None, "tags": ["a"]}, {"n": 2}])
    assert known["n"].presence == 0.5
    assert known["tags"].presence == 0.5


def test_only_frequent_values_are_heavy() -> None:
    events = [{"s": "often"}] * 3 * HEAVY_COUNT + [{"s": "just"}] * HEAVY_COUNT + [{"s": "rare"}] * (HEAVY_COUNT - 1)
    known = of([*events, {}])["s"]
    assert known.heavy == {"often": 3 * HEAVY_COUNT / len(events), "just": HEAVY_COUNT / len(events)}


def test_a_share_is_of_all_values_where_an_event_has_many() -> None:
    assert of([{"tags": ["a", "b"]}] * 10)["tags"].heavy == {"a": 0.5, "b": 0.5}


def test_quantiles_are_at_even_steps_of_rank() -> None:
    known = of([{"n": k, "at": k} for k in reversed(range(5000))])
    assert len(known["n"].quantiles) == QUANTILES + 1
    assert known["n"].quantiles[0] == 0
    assert known["n"].quantiles[-1] == 4999
    assert known["n"].quantiles[QUANTILES // 2] == 2499
    assert known["at"].quantiles[:2] == (0, 4)


def test_booleans_have_no_quantiles() -> None:
    known = of([{"flag": True}] * 15 + [{"flag": False}] * 15)["flag"]
    assert known == AttributeStatistics(1.0, {True: 0.5, False: 0.5})


def test_nan_and_absence_are_no_values() -> None:
    batch = pa.record_batch({"f": pa.array([float("nan"), None, 1.0] * 10), "g": pa.array([None] * 30, pa.float64())})
    known = Statistics.from_events(batch).attributes
    assert known["f"].heavy == {1.0: 1.0}
    assert known["f"].quantiles == (1.0,) * 10
    assert known["g"] == AttributeStatistics(0.0)


def test_no_events_at_all() -> None:
    batch = pa.record_batch({"n": pa.array([], pa.int64()), "tags": pa.array([], pa.list_(pa.string()))})
    assert Statistics.from_events(batch) == Statistics(
        0, {"n": AttributeStatistics(0.0), "tags": AttributeStatistics(0.0)}
    )


def test_a_table_of_several_chunks() -> None:
    batch = SCHEMA.to_arrow([{"n": k % 3, "tags": ["x"]} for k in range(60)])
    table = pa.Table.from_batches([batch.slice(0, 7), batch.slice(7)])
    assert Statistics.from_events(table) == Statistics.from_events(batch)


@given(workload=workloads(max_subscriptions=0))
def test_statistics_of_any_events_survive_json(workload: Generated) -> None:
    batch = workload.schema.to_arrow(workload.events * 10)
    known = Statistics.from_events(batch)
    again = Statistics.from_dict(json.loads(json.dumps(known.to_dict())))
    assert again == known
    for name, about in known.attributes.items():
        assert [type(value) for value in again.attributes[name].heavy] == [type(value) for value in about.heavy]


def test_statistics_are_saved_and_loaded(tmp_path: Path) -> None:
    known = Statistics.from_events(SCHEMA.to_arrow([{"n": 2**62 + 1, "f": 0.1, "s": "é"}] * 20))
    known.save(tmp_path / "statistics.json")
    assert Statistics.load(tmp_path / "statistics.json") == known


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"events": 1, "attributes": {"n": {}}}', "3"])
def test_what_holds_no_statistics_is_refused_by_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "odd.json").write_text(content, encoding="utf-8")
    with pytest.raises(StatisticsError, match=r"odd\.json"):
        Statistics.load(tmp_path / "odd.json")
    with pytest.raises(StatisticsError, match="nowhere"):
        Statistics.load(tmp_path / "nowhere.json")
