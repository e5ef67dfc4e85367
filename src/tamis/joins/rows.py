"""Rows of tables and results of joins as clients, services and explanations name them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

from tamis.matching.event_values import Values

__all__ = ["Identity", "Result", "Values"]

Identity: TypeAlias = tuple[Hashable, ...]
"""What tells a row of a table from others: the values of its key, or the number of its arrival where there is none."""
Result: TypeAlias = tuple[Identity, ...]
"""The rows that a result is made of, one of each table, in the order of the signature's tables."""
