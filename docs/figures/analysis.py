"""Draws the picture of docs/analysis.md: what is found of 20,000 subscriptions to auctions.

python docs/figures/analysis.py [image]
"""

from __future__ import annotations

import sys
from pathlib import Path

import tamis
from tamis.workloads import auctions

IMAGE = Path(__file__).resolve().parents[1] / "images/analysis.png"
SUBSCRIPTIONS, EVENTS = 20_000, 5_000


def draw(image: Path, subscriptions: int = SUBSCRIPTIONS, events: int = EVENTS) -> None:
    """Analyzes so many subscriptions over so many events."""
    workload = auctions(subscriptions, events)
    tamis.analyze(workload.subscriptions, workload.schema, events=workload.events).plot(image)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGE)
