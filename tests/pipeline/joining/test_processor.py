"""Cells and their log, without Spark around them: exact for any joins and histories, whoever has what in memory."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="the Spark extra is not installed")

import pyarrow as pa

from tamis.joins.arrivals import Showing
from tamis.joins.naive import NaiveJoins
from tamis.pipeline.joining import cell as cell_module
from tamis.pipeline.joining import processor as processor_module
from tamis.pipeline.joining.cells import Cells
from tamis.pipeline.joining.packing import Lateness, Packer, from_blob
from tamis.pipeline.joining.processor import TablesProcessor
from tamis.pipeline.table.subscriptions import Part, Snapshot
from tamis.pipeline.workers.inputs import Reader
from tamis.schema import Schema
from tamis.testing import GeneratedJoins, join_workloads
from tests.generated import cases


class Value:
    """A value state, of the cell at hand."""

    def __init__(self, store: dict[Any, Any], name: str) -> None:
        self._store, self._name = store, name

    def get(self) -> Any:
        return self._store.get(self._name)

    def update(self, value: Any) -> None:
        self._store[self._name] = value


class Map:
    """A map state."""

    def __init__(self, store: dict[Any, Any], name: str) -> None:
        self._store, self._name = store, name

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self._store.get((self._name, key))

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self._store[self._name, key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self._store[self._name, key]


class Handle:
    """State of one cell, in a dict."""

    def __init__(self, store: dict[Any, Any]) -> None:
        self._store = store

    def getValueState(self, name: str, schema: str) -> Value:  # noqa: N802
        return Value(self._store, name)

    def getMapState(self, name: str, key: str, schema: str) -> Map:  # noqa: N802
        return Map(self._store, name)


class Stream:
    """A query over tables: packs events, runs cells on them, now and then in a worker that knows nothing yet."""

    def __init__(
        self, workload: GeneratedJoins, cells: Cells, rng: random.Random, lateness: Lateness | None = None
    ) -> None:
        self.schema, self.cells, self.rng, self.lateness = workload.schema, cells, rng, lateness
        self.stores: dict[int, dict[Any, Any]] = {label: {} for label in cells.labels()}
        self.workers: list[dict[Any, Any]] = [{}, {}]
        self.texts: Mapping[str, str] = workload.texts
        self.batch = 0
        self.held: dict[str, Counter[str]] = {id: Counter() for id in workload.texts}
        self.dead = 0

    def run(self, events: list[dict[str, Any]]) -> None:
        names = self.schema.arrow_schema.names
        reader = Reader(self.schema, tuple(range(len(names))), tuple(names), check=True)
        halves = [events[0::2], events[1::2]]
        orders = [list(range(0, len(events), 2)), list(range(1, len(events), 2))]
        packs: list[dict[str, Any]] = []
        for half, order in zip(halves, orders, strict=True):
            batch = self.schema.to_arrow(half)
            columns = [
                batch.column(name)
                if name in batch.schema.names
                else pa.nulls(len(half), self.schema.arrow_schema.field(name).type)
                for name in names
            ]
            rows = pa.RecordBatch.from_arrays([*columns, pa.array(order, pa.int64())], [*names, "n"])
            for out in Packer(self.cells, reader, len(names), None if self.lateness is None else self.lateness.by).run(
                iter([rows])
            ):
                packs += out.to_pylist()
        for label in self.stores:
            mine = [pack for pack in packs if pack["cell"] == label]
            if self.rng.random() < 0.3:
                # A try that fails: its worker remembers it, the state does not.
                self._try(label, mine, dict(self.stores[label]))
            for answer in self._try(label, mine, self.stores[label]):
                self._tell(answer)
        self.batch += 1

    def _try(self, label: int, packs: list[dict[str, Any]], store: dict[Any, Any]) -> list[Any]:
        worker = self.rng.choice(self.workers)
        if self.rng.random() < 0.2:
            worker.clear()
        processor_module._OPEN = worker  # type: ignore[assignment]
        processor = TablesProcessor(Snapshot(self.schema, (Part("somewhere"),)), self.cells, self.lateness)
        processor.init(Handle(store))  # type: ignore[arg-type]
        return list(processor.handleInputRows((label,), iter(packs), None))  # type: ignore[arg-type]

    def _tell(self, answer: Any) -> None:
        if answer["dead"] is not None:
            self.dead += from_blob(answer["dead"]).num_rows
        for row in from_blob(answer["changes"]).to_pylist() if answer["changes"] is not None else ():
            text = json.dumps(json.loads(row["row"]), sort_keys=True)
            self.held[row["subscription"]][text] += 1 if row["change"] == "added" else -1


@pytest.fixture(autouse=True)
def patched(monkeypatch: pytest.MonkeyPatch) -> None:
    # Logs are folded early, so that histories of some events see it.
    monkeypatch.setattr(cell_module, "_LEAST", 10)
    monkeypatch.setattr(processor_module, "_OPEN", {})


def contents(oracle: NaiveJoins) -> dict[str, Counter[str]]:
    found = {}
    for id, join in oracle.joins.items():
        showing = Showing(join.signature, join.columns, oracle.schema)
        found[id] = Counter(
            json.dumps(showing.show(rows), sort_keys=True, default=lambda value: value.isoformat())
            for rows in oracle.content(id).values()
        )
    return found


@given(
    workload=join_workloads(max_subscriptions=4, max_events=40, max_tables=3),
    seed=st.integers(0, 1 << 16),
    parts=st.integers(1, 3),
    any_join=st.booleans(),
)
@settings(max_examples=cases(20), deadline=None)
def test_contents_are_the_oracles_after_every_batch(
    workload: GeneratedJoins, seed: int, parts: int, any_join: bool
) -> None:
    rng = random.Random(seed)
    oracle = NaiveJoins(workload.schema, workload.texts)
    signatures = [join.signature for join in oracle.joins.values()]
    cells = Cells.for_schema(workload.schema, parts)
    if not any_join:
        cells = Cells.for_signatures(signatures, workload.schema, parts)
    stream = Stream(workload, cells, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processor_module, "join_texts", lambda part: stream.texts)
        patch.setattr(processor_module, "micro_batch", lambda: ("query", stream.batch))
        start, refusals = 0, 0
        kept = {table for placement in cells.placements for table in placement.tables}
        while start < len(workload.events):
            stop = start + rng.randrange(1, 15)
            events = [event for event in workload.events[start:stop] if not workload.schema.violations(event)]
            _, refused = oracle.apply(events)
            refusals += sum(bool(kept.intersection(_types(events[row], workload))) for row in refused)
            stream.run(events)
            assert {id: +one for id, one in stream.held.items()} == contents(oracle)
            assert all(count >= 0 for one in stream.held.values() for count in one.values())
            assert stream.dead == refusals
            start = stop


def _types(event: Mapping[str, Any], workload: GeneratedJoins) -> list[str]:
    given = event.get("event_type", workload.schema.default_event_type)
    return [given] if isinstance(given, str) else list(given)


TIMED = Schema.from_yaml("""
attributes: {x: integer, a: float, b: float, at: timestamp}
event_types:
  R: {x: mandatory, a: mandatory, at: mandatory}
  S: {x: mandatory, b: mandatory, at: mandatory}
tables:
  R: {key: [x], join: [x]}
  S: {key: [x], join: [x], retention: {window: 20 seconds, by: at}}
""")
START = datetime(2026, 1, 1, tzinfo=UTC)


@given(seed=st.integers(0, 1 << 16), parts=st.integers(1, 3))
@settings(max_examples=cases(12), deadline=None)
def test_events_that_come_out_of_order_are_applied_by_their_time(seed: int, parts: int) -> None:
    rng = random.Random(seed)
    times = sorted(rng.sample(range(1000), 60))
    events: list[dict[str, Any]] = []
    for second in times:
        table = rng.choice("RS")
        operation = rng.choice((None, None, "insert", "update", "delete"))
        event: dict[str, Any] = {
            "event_type": [table],
            "x": rng.randrange(4),
            "at": START + timedelta(seconds=second / 10),
        }
        event |= {"a" if table == "R" else "b": float(rng.randrange(5))} | (
            {"operation": operation} if operation else {}
        )
        events.append(event)
    delay = 3.0
    coming = sorted(events, key=lambda event: event["at"].timestamp() + rng.uniform(0, 5.0))
    workload = GeneratedJoins(TIMED, {}, coming)
    texts = {
        "all": "SELECT * FROM R JOIN S USING (x)",
        "some": "SELECT * FROM R JOIN S USING (x) WHERE a > 1 AND b < 4",
    }
    cells = Cells.for_schema(TIMED, parts)
    stream = Stream(workload, cells, rng, Lateness("at", int(delay * 1e6)))
    stream.texts = texts
    stream.held = {id: Counter() for id in texts}
    oracle = NaiveJoins(TIMED, texts)
    clock, dead, start = START - timedelta(days=1), 0, 0
    waiting: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processor_module, "join_texts", lambda part: stream.texts)
        patch.setattr(processor_module, "micro_batch", lambda: ("query", stream.batch))
        while start < len(coming):
            stop = start + rng.randrange(1, 15)
            batch, start = coming[start:stop], stop
            in_time = [event for event in batch if event["at"] >= clock - timedelta(seconds=delay)]
            dead += len(batch) - len(in_time)
            clock = max(clock, *(event["at"] for event in batch))
            waiting = sorted([*waiting, *in_time], key=lambda event: event["at"])
            due = [event for event in waiting if event["at"] <= clock - timedelta(seconds=delay)]
            waiting = waiting[len(due) :]
            _, refused = oracle.apply(due)
            dead += len(refused)
            stream.run(batch)
            assert {id: +one for id, one in stream.held.items()} == contents(oracle)
            assert stream.dead == dead
