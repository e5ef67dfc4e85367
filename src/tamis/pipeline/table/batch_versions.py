"""A micro-batch takes the version it uses, once and for all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tamis.pipeline.calling.crew import Crew
from tamis.pipeline.table.locks import locked
from tamis.pipeline.table.snapshot import Snapshot
from tamis.pipeline.table.versions import Versions
from tamis.schema import Schema

LOCK = "lock"


def version_for(folder: Path, stream: str, batch: int) -> int:
    """The version that this micro-batch is to use: the newest, or on a replay the one it used first.

    It is on disk when this returns, and its files are kept at least until the stream takes its next batch.
    """
    versions = Versions(folder)
    with locked(folder / LOCK):
        newest = versions.newest()
        noted = newest.noted(stream, batch)
        if noted is None:
            versions.publish(newest.with_batch(stream, batch))
        return newest.version if noted is None else noted


@dataclass(frozen=True, slots=True)
class Live:
    """A table of subscriptions of which each micro-batch takes the newest version when its first task runs."""

    schema: Schema
    folder: str
    crew: Crew | None = None

    def snapshot(self, stream: str, batch: int) -> Snapshot:
        folder = Path(self.folder)
        return Snapshot(self.schema, (Versions(folder).part(version_for(folder, stream, batch)),), self.crew)
