"""Indexes too large for one worker's memory: cut into shards, which workers open one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tamis.engine import Index
from tamis.engine import compile as compile_index
from tamis.errors import IndexFileError, PipelineError, TamisError
from tamis.matching.statistics import Statistics
from tamis.pipeline.compile import bind_frame, build
from tamis.pipeline.snapshot import Part, Snapshot
from tamis.pipeline.subscriptions import require_columns
from tamis.pipeline.table.durable import replace_durably
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SHARDS = "shards.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Shards:
    """A folder of saved indexes that share no subscription: `shards.json` names them, and is written last."""

    path: Path
    schema: Schema
    names: tuple[str, ...]

    @classmethod
    def open(cls, path: str | Path) -> Shards:
        """The shards in a folder, their checksums verified."""
        folder = Path(path)
        try:
            about = json.loads((folder / SHARDS).read_text(encoding="utf-8"))
            written, names = about["format"], tuple(about["shards"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexFileError(f"{folder} holds no shards, or not all of them: {error}; cut them again") from error
        if written > FORMAT:
            raise IndexFileError(f"{folder} was written by a newer Tamis (format {written})")
        schemas = {Index.open(folder / name).schema for name in names}
        if len(schemas) != 1:
            raise IndexFileError(f"the shards in {folder} differ in their schemas; cut them again")
        return cls(folder, schemas.pop(), names)

    def __len__(self) -> int:
        return len(self.names)

    def snapshot(self) -> Snapshot:
        """What a worker needs to open them."""
        return Snapshot(self.schema, tuple(Part(str((self.path / name).resolve())) for name in self.names))


class Cut(NamedTuple):
    """The shards, and the subscriptions that went into none, by id."""

    shards: Shards
    errors: list[tuple[str, TamisError]]


def shard(
    subscriptions: Index | DataFrame,
    path: str | Path,
    shards: int,
    schema: Schema | None = None,
    statistics: Statistics | None = None,
) -> Cut:
    """Cuts subscriptions into so many indexes under a new folder; `match` takes the result as it takes an index.

    `subscriptions` is an index, or a DataFrame with the columns id and filter (then `schema` is needed), of which only
    one shard's part is on the driver at a time.
    """
    folder = Path(path)
    if shards < 1:
        raise PipelineError(f"{shards} shards hold no subscriptions; one or more are needed")
    if (folder / SHARDS).exists():
        raise PipelineError(f"{folder} holds shards already; cut into a new folder")
    names = tuple(f"shard-{number:04}" for number in range(shards))
    errors: list[tuple[str, TamisError]] = []
    for name, (index, refused) in zip(names, _pieces(subscriptions, shards, schema, statistics), strict=True):
        index.save(folder / name)
        errors += refused
    about = {"format": FORMAT, "shards": names}
    replace_durably(folder / SHARDS, json.dumps(about).encode())
    return Cut(Shards.open(folder), errors)


def _pieces(
    subscriptions: Index | DataFrame, shards: int, schema: Schema | None, statistics: Statistics | None
) -> Iterator[tuple[Index, Sequence[tuple[str, TamisError]]]]:
    if isinstance(subscriptions, Index):
        ids = subscriptions.ids().to_pylist()
        for number in range(shards):
            piece = {id: subscriptions.text(id) for id in ids[number::shards]}
            yield compile_index(piece, subscriptions.schema, statistics=statistics), []
        return
    if schema is None:
        raise PipelineError("to cut a DataFrame of subscriptions into shards, its schema is needed: schema=…")
    require_columns(subscriptions.columns)
    texts = subscriptions.selectExpr("id", "filter", f"pmod(xxhash64(id), {shards}) shard").persist()
    try:
        for number in range(shards):
            rows, bound, refused = bind_frame(texts.where(f"shard = {number}"), schema)
            index = build(rows, bound, schema, statistics)
            yield index, [*refused, *index.errors]
    finally:
        texts.unpersist()
