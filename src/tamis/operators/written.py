"""What variables are bound to, as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any


def json_bindings(variables: Mapping[str, Any]) -> dict[str, Any]:
    """The same, in what JSON can say: moments in ISO form, infinite numbers as texts, texts of whole characters only.

    >>> json_bindings({"people": 57, "far": float("inf"), "name": "a\\ud800"})
    {'people': 57, 'far': 'inf', 'name': 'a?'}
    """
    return {name: json_value(value) for name, value in variables.items()}


def json_value(value: Any) -> Any:
    """One of them."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
