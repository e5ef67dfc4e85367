"""Picture of an analysis: findings, distribution of cost, and the most used attributes and conditions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tamis.errors import TamisError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tamis.analysis.findings import Analysis

FORMS = (".png", ".svg", ".pdf")

_BLUE, _GREY, _RED = "#3b6ea5", "#b8c4d0", "#b5483a"
_SHOWN_NAME = 34


def plot(analysis: Analysis, path: str | Path | None, top: int) -> Figure:
    """Draws four panels: findings, cost by subscription, attributes, conditions."""
    if path is not None and Path(path).suffix.lower() not in FORMS:
        raise TamisError(f"a plot is written to a file that ends in {' or '.join(FORMS)}, and {path} does not")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise TamisError("plots need matplotlib: pip install 'tamis[spark]'") from error

    figure = Figure(figsize=(12, 8.5), layout="constrained")
    (findings, cost), (attributes, predicates) = figure.subplots(2, 2)
    _draw_findings(findings, analysis)
    _draw_cost(cost, analysis)
    _draw_bars(
        attributes,
        "attributes that most subscriptions name",
        analysis.attributes["attribute"].to_pylist()[:top],
        analysis.attributes["subscriptions"].to_pylist()[:top],
    )
    _draw_bars(
        predicates,
        "conditions that most subscriptions have",
        analysis.predicates["condition"].to_pylist()[:top],
        analysis.predicates["subscriptions"].to_pylist()[:top],
    )
    figure.suptitle(
        f"{len(analysis):,} subscriptions: {analysis.superfluous:,} could go without anything being lost"
        + (f"; {analysis.events:,} events looked back on" if analysis.events else "")
    )
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _draw_findings(axes: Axes, analysis: Analysis) -> None:
    names = [name for name in analysis.counts if name != "silent" or analysis.events]
    counts = [analysis.counts[name] for name in names]
    colours = [_RED if name in ("contradictory", "always true") else _BLUE for name in names]
    names, counts = [*names, "nothing found"], [*counts, len(analysis) - sum(counts)]
    bars = axes.barh(names, counts, color=[*colours, _GREY])
    axes.bar_label(bars, [f" {count:,}" for count in counts], padding=2, fontsize="small")
    axes.invert_yaxis()
    axes.margins(x=0.18)
    _plain(axes, "what was found, the gravest of each subscription", "subscriptions")


def _draw_cost(axes: Axes, analysis: Analysis) -> None:
    """Draws the cumulative share of cost over the most expensive subscriptions: a line into the corner is a few that
    cost all."""
    cost = np.sort(np.asarray(analysis.subscriptions["nanoseconds_per_event"]))[::-1]
    total = cost.sum()
    _plain(axes, "who costs most to match", "subscriptions, dearest first")
    axes.set_ylabel("share of all cost")
    axes.set_ylim(0, 1.02)
    if not total:
        return
    share = np.cumsum(cost) / total
    places = np.unique(np.geomspace(1, len(share), 400).astype(np.int64))
    axes.plot(places, share[places - 1], color=_BLUE, label="these subscriptions")
    axes.plot(places, places / len(share), color=_GREY, linestyle="dashed", label="if all cost the same")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    half = int(np.searchsorted(share, 0.5)) + 1
    axes.axvline(half, color=_RED, linewidth=1, label=f"{half:,} of {len(share):,} cost half")
    axes.legend(loc="upper left", frameon=False, fontsize="small")


def _draw_bars(axes: Axes, title: str, names: list[str], counts: list[int]) -> None:
    places = range(len(names))
    bars = axes.barh(places, counts, color=_BLUE)
    axes.bar_label(bars, [f" {count:,}" for count in counts], padding=2, fontsize="small")
    axes.set_yticks(list(places), [_shortened(name) for name in names], fontsize="small")
    axes.invert_yaxis()
    axes.margins(x=0.18)
    _plain(axes, title, "subscriptions")


def _plain(axes: Axes, title: str, label: str) -> None:
    axes.set_title(title, loc="left", fontsize="medium")
    axes.set_xlabel(label)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)


def _shortened(name: str) -> str:
    # A dollar sign would begin a formula.
    shown = name if len(name) <= _SHOWN_NAME else name[: _SHOWN_NAME - 1] + "…"
    return shown.replace("$", r"\$")
