"""Which attributes stand at the top of the diagrams, and which at the bottom, where nodes are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def from_the_top(uses: npt.NDArray[Any], distinct: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Attributes in order, by how often each is asked of and how many distinct predicates ask of it.

    What is asked often, and by few predicates, goes to the bottom: there most conjunctions can have it in common
    (Li, Hou and Jacobsen 2005, §3.2; its third criterion, what belongs together by its meaning, is not known here).
    """
    shared = uses / np.maximum(1, distinct)
    return np.argsort(shared, kind="stable").astype(np.int64)
