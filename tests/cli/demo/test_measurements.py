"""Figures from micro-batches."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tamis.cli.demo.measurements import BatchRecord, Measurements, plot


def _measurements() -> Measurements:
    measured = Measurements()
    for finished, events, latency in ((1.0, 10, 0.2), (2.0, 30, 0.4), (10.0, 20, 1.0)):
        measured.add(BatchRecord(finished, events, 5 * events, 0, np.full(events, latency)))
    return measured


def test_the_whole_run_is_summed_up() -> None:
    whole = _measurements().figures(10.0)
    assert (whole.events, whole.matches, whole.events_a_second) == (60, 300, 6.0)
    assert whole.p50 == pytest.approx(0.4)


def test_recent_figures_leave_the_past_out() -> None:
    recent = _measurements().figures(10.0, last=5.0)
    assert (recent.events, recent.seconds, recent.events_a_second) == (20, 5.0, 4.0)
    assert recent.p95 == pytest.approx(1.0)


def test_dead_letters_count_as_events_of_the_batch_before_them() -> None:
    measured = _measurements()
    measured.add_dead(3)
    whole = measured.figures(10.0)
    assert (whole.events, whole.dead) == (63, 3)


def test_nothing_measured_gives_no_latency() -> None:
    nothing = Measurements().figures(1.0)
    assert nothing.events == 0
    assert math.isnan(nothing.p50)
    assert nothing.matches_an_event == 0.0


def test_the_plot_is_written_in_the_format_of_its_name(tmp_path: Path) -> None:
    measured = _measurements()
    paths = (tmp_path / "plot.png", tmp_path / "plot.svg")
    plot(measured.records, measured.figures(10.0), 1_000, paths)
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in paths[1].read_text()


def test_a_run_without_a_single_batch_can_be_drawn(tmp_path: Path) -> None:
    plot((), Measurements().figures(1.0), 1_000, (tmp_path / "plot.png",))
    assert (tmp_path / "plot.png").exists()
