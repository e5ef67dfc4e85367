"""What the demo prints."""

from __future__ import annotations

import io

from rich.console import Console

from tamis.cli.demo.measurements import Figures
from tamis.cli.demo.screen import Sample, Screen, View

FIGURES = Figures(seconds=5.0, events=1_000, matches=37_000, dead=2, p50=0.4, p95=0.9)
SAMPLE = Sample("Oak [bed], 12.00", 41, "title LIKE '%[bed]%'")


def _shown(*, terminal: bool, times: tuple[float, ...]) -> str:
    text = io.StringIO()
    screen = Screen(Console(file=text, force_terminal=terminal, width=120, color_system=None))
    with screen.streaming(40.0) as show:
        for now in times:
            show(View(now, FIGURES, FIGURES, [SAMPLE], "a note"))
    return text.getvalue()


def test_a_terminal_gets_a_table_with_rates_latency_and_samples() -> None:
    shown = _shown(terminal=True, times=(1.0,))
    for part in ("events per second", "200", "matches per event", "37.0", "0.40 s", "0.90 s", "a note"):
        assert part in shown
    assert "Oak [bed], 12.00" in shown
    assert "title LIKE '%[bed]%'" in shown


def test_without_a_terminal_there_is_a_line_every_five_seconds() -> None:
    lines = _shown(terminal=False, times=(1.0, 4.9, 5.1, 6.0, 10.2)).splitlines()
    assert [line.split(":")[0].strip() for line in lines] == ["5 s", "10 s"]
    assert "200 events/s, 7,400 matches/s, latency p50 0.40 s, p95 0.90 s, 2 dead letters" in lines[0]


def test_a_step_is_told_when_it_is_done() -> None:
    text = io.StringIO()
    screen = Screen(Console(file=text, force_terminal=False, width=120))
    with screen.step("working", "worked"):
        pass
    assert text.getvalue().startswith("✔ worked")
