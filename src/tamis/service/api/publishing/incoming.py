"""Events on their way in."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tamis.service.api.problems import Problem


@dataclass(frozen=True, slots=True)
class Incoming:
    """The events of one request as JSON texts without line ends, in order, not checked yet.

    `ids` are the publisher's own, or None where it gave none.
    """

    texts: pa.Array
    ids: pa.Array | None = None


def malformed(detail: str) -> Problem:
    """The body as a whole cannot be read."""
    return Problem(400, "json", detail)
