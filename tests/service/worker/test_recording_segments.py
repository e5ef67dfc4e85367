"""Segments that workers have packed are recorded like lists, whatever the driver still has to refuse."""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from tamis.arrays import Int64s
from tamis.pipeline.workers.inputs import VIOLATION
from tamis.pipeline.workers.packing import COLUMNS, SEGMENT, SEGMENT_FILE, Packing
from tamis.service.store import Store
from tamis.service.worker.recording import Recorder, Residuals
from tamis.service.worker.suspending import Fairness
from tests.service.worker.test_recording import ANSWER, body, row, subscribed


class LeftOut:
    """Fairness that has left out some subscriptions."""

    def __init__(self, *ids: int) -> None:
        self._ids = frozenset(ids)

    def left_out(self) -> frozenset[int]:
        return self._ids

    def charge(self, took: dict[int, float]) -> frozenset[int]:
        return self._ids


def packed(rows: Collection[dict[str, Any]], batch: int, folder: Path | None, tasks: int = 2) -> pa.Table:
    """What workers give back: each task has a range of every partition's rows, in their order."""
    packing = Packing(batch << 24, {0: 0, 1: 1_000}, None if folder is None else str(folder))
    ordered = sorted(rows, key=lambda one: (one["partition"], one["offset"]))
    answers = []
    for some in np.array_split(np.arange(len(ordered)), tasks):
        table = pa.Table.from_pylist([ordered[place] for place in some.tolist()], ANSWER).combine_chunks()
        (its,) = table.to_batches() or [pa.RecordBatch.from_pylist([], ANSWER)]
        alive = np.flatnonzero(np.asarray(its["violations"].is_null()))
        lists = its["subscriptions"].take(pa.array(alive))
        counts = np.asarray(pa.compute.list_value_length(lists), np.int64)
        numbers: Int64s = np.asarray(lists.flatten().cast(pa.int64()))
        offsets = np.append(0, np.cumsum(counts))
        made = packing.packed([its.select(COLUMNS)], [alive], [offsets], [numbers])
        dead = [one for one in its.to_pylist() if one["violations"] is not None]
        answers += [{**one, SEGMENT: None, SEGMENT_FILE: None} for one in dead]
        if made is not None:
            answers.append({SEGMENT: made[0], SEGMENT_FILE: made[1]})
    fields = [
        *(ANSWER.field(name) for name in COLUMNS),
        pa.field(SEGMENT, pa.binary()),
        pa.field(SEGMENT_FILE, pa.string()),
    ]
    return pa.Table.from_pylist(answers, pa.schema([*fields, pa.field("violations", pa.list_(VIOLATION))]))


def of(store: Store, number: int) -> list[tuple[str, str]]:
    return [(one.event_id, one.body) for one in store.notifications.after(number, 0)]


@pytest.fixture(params=["values", "files"])
def folder(request: pytest.FixtureRequest, store: Store, monkeypatch: pytest.MonkeyPatch) -> Path | None:
    """Where workers put segments of any size; None: they come as values."""
    if request.param == "values":
        return None
    monkeypatch.setattr("tamis.pipeline.workers.packing.SMALL", 0)
    return store.notifications.segments.made_folder()


def recorder(store: Store, *left_out: int) -> Recorder:
    return Recorder(store, Residuals(store), fairness=cast(Fairness, LeftOut(*left_out)))


@pytest.mark.parametrize("seed", range(5))
def test_segments_are_recorded_like_lists(store: Store, tmp_path: Path, folder: Path | None, seed: int) -> None:
    drawn = random.Random(seed)
    other = Store.open(f"sqlite:///{tmp_path}/other/store.sqlite")
    numbers = [
        subscribed(one, residual) for one in (store, other) for residual in (None, [{"exact": {"colour": "red"}}], None)
    ]
    plain, red, left_out = numbers[:3]
    assert numbers[3:] == [plain, red, left_out]
    many = [plain, red, left_out, *range(100, 160)]
    for batch in (1, 2):
        rows = [
            row(
                1_000 * batch + place,
                drawn.sample(many, drawn.choice([0, 1, 40])),
                drawn.choice([None, None, None, ["bad"]]),
                partition=drawn.randrange(2),
                body=body(colour=drawn.choice(["red", "blue"])),
            )
            for place in range(60)
        ]
        lists = pa.Table.from_pylist([one for one in rows if one["subscriptions"] or one["violations"]], ANSWER)
        dead = [{**one, "subscriptions": []} if one["violations"] else one for one in rows]
        by_lists = recorder(other, left_out).record("s", batch, lists)
        by_segments = recorder(store, left_out).record("s", batch, packed(dead, batch, folder))
        assert (by_segments.matches, by_segments.dead) == (by_lists.matches, by_lists.dead)
    for number in many:
        assert of(store, number) == of(other, number)
    assert not of(store, left_out)
    assert of(store, red)
    letters = [
        [(one.subject, one.reason) for one in kept.dead_letters.list(None, "event", 0, 500)] for kept in (store, other)
    ]
    assert letters[0] == letters[1]
    assert store.notifications.head() == max(
        one.position for number in many for one in store.notifications.after(number, 0)
    )
    other.close()


def test_a_segment_of_which_nothing_is_left_is_not_recorded(store: Store, folder: Path | None) -> None:
    answer = packed([row(1, [7]), row(2, [7])], 1, folder, tasks=1)
    assert recorder(store, 7).record("s", 1, answer).matches == 0
    assert store.notifications.head() == 0
    assert not list(Path(str(store.notifications.segments.folder)).glob("*"))


def test_segments_of_a_batch_that_is_run_again_are_removed(store: Store, folder: Path | None) -> None:
    recorder(store).record("s", 1, packed([row(1, [7])], 1, folder))
    there = set(Path(str(store.notifications.segments.folder)).glob("*"))
    recorder(store).record("s", 1, packed([row(1, [7])], 1, folder))
    assert of(store, 7) == [("e1", "{}")]
    assert set(Path(str(store.notifications.segments.folder)).glob("*")) == there


def test_who_gets_a_residual_filter_later_is_looked_at_from_then_on(store: Store, folder: Path | None) -> None:
    residuals = Residuals(store)
    made = Recorder(store, residuals)
    plain = subscribed(store, None)
    made.record("s", 1, packed([row(1, [plain], body=body())], 1, folder))
    red = subscribed(store, [{"exact": {"colour": "red"}}])
    residuals.forget([red])
    its = [row(2, [plain, red], body=body(colour="red")), row(3, [plain, red], body=body(colour="blue"))]
    made.record("s", 2, packed(its, 2, folder))
    assert [id for id, _ in of(store, plain)] == ["e1", "e2", "e3"]
    assert [id for id, _ in of(store, red)] == ["e2"]


def test_texts_of_any_kind_come_back_as_they_were(store: Store, folder: Path | None) -> None:
    bodies = [json.dumps({"ce": {"id": "ü☃"}}, ensure_ascii=False), "", "{}" * 5_000]
    rows = [row(place, [7], body=text) for place, text in enumerate(bodies, 1)]
    recorder(store).record("s", 1, packed(rows, 1, folder))
    assert [text for _, text in of(store, 7)] == bodies
