"""What a worker needs to know to open the subscriptions as they were at one moment: paths, nothing of size."""

from __future__ import annotations

from dataclasses import dataclass

from tamis.pipeline.calling.crew import Crew
from tamis.schema import Schema


@dataclass(frozen=True, slots=True)
class Part:
    """A saved index, and the change files to be applied to it in order. All of them are frozen: a path, once written,
    always stands for the same content, so an opened part may be kept under its name."""

    base: str
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Subscriptions as of one moment: the union of its parts, which share no subscription.

    One part is the rule; several are shards, of which a worker has one open at a time. `crew` are the operators that
    its filters may call, None where there are none. At the `desk`, a folder, workers tell what slow conditions took,
    and hear which subscriptions are left out; None: nobody wants to know.
    """

    schema: Schema
    parts: tuple[Part, ...]
    crew: Crew | None = None
    desk: str | None = None

    @property
    def frozen(self) -> bool:
        """Whether these are just saved indexes, whose subscriptions have the same numbers in every worker."""
        return not any(part.changes for part in self.parts)
