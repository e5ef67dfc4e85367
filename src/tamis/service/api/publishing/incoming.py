"""Events on their way in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tamis.service.api.problems import Problem


@dataclass(frozen=True, slots=True)
class Incoming:
    """The events of one request as JSON texts without line ends, in order, not checked yet.

    `ids` are the publisher's own, or None where it gave none. `faults` has the events that could not be read, by place,
    each with its reason.
    """

    texts: pa.Array
    ids: pa.Array | None = None
    faults: Mapping[int, str] = field(default_factory=dict)


def malformed(detail: str) -> Problem:
    """The body as a whole cannot be read."""
    return Problem(400, "json", detail)
