"""How many generated cases a test looks at."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

_USUAL: Final = 40  # the size of a profile in which a test would look at as many as it asks for


def cases(count: int) -> int:
    """So many in proportion to the profile: five in eight for `make test`, three times as many for `make test-all`."""
    return max(1, count * settings().max_examples // _USUAL)
