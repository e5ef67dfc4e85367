"""What the small auction house of these tests holds, and what must come out."""

from __future__ import annotations

from collections.abc import Callable

from typer.testing import Result

SCHEMA = """
domains:
  period: {type: enumerated, values: [XVI, XVII, XVIII], order: [[XVI, XVII], [XVII, XVIII]]}
attributes: {price: float, quantity: integer, title: string, tags: string, opened: timestamp, period: period}
event_types:
  antiques: {price: mandatory, quantity: optional, title: optional, tags: [optional, multiple], opened: optional,
             period: optional}
"""
SUBSCRIPTIONS = {"cheap": "price < 100", "clock": "title LIKE '%clock%'", "old": "period <= 'XVII'"}
EVENTS = [
    {"price": 50.0, "title": "carriage clock", "tags": ["red", "blue"]},
    {"price": 500.0, "title": "chair", "period": "XVI", "opened": "2024-05-01T10:00:00Z"},
    {"price": 5000.0, "title": "bed"},
]
MATCHES = [(0, "cheap"), (0, "clock"), (1, "old")]

Tamis = Callable[..., Result]
