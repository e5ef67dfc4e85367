"""How many generated cases a test looks at."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

_USUAL: Final = 40  # what tests/conftest.py gives to tests that say nothing


def cases(count: int) -> int:
    """So many in `make test`, and more in `make test-all`, in proportion to its profile."""
    return max(1, count * settings().max_examples // _USUAL)
