"""Subscriptions in, matches out: the rooms below put together behind one class."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import FilterError, IndexFileError, SubscriptionError, TamisError
from tamis.language import DEFAULT_LIMITS, Limits, bind
from tamis.matching.columnar.index import ColumnarMatcher
from tamis.matching.explanation import Explanation, explain
from tamis.matching.matcher import Matcher, Subscriptions
from tamis.matching.matches import Matches
from tamis.matching.naive import NaiveMatcher
from tamis.matching.statistics import Statistics
from tamis.schema import Schema

MATCHERS: Final[Mapping[str, type[Any]]] = {matcher.name: matcher for matcher in (ColumnarMatcher, NaiveMatcher)}
FORMAT = 1
_ABOUT = "index.json"

Texts: TypeAlias = Mapping[str, str] | pa.Table | pa.RecordBatch


class Index:
    """Subscriptions compiled for matching under one schema.

    Any number of threads may match at once; changes (`add`, `remove`) are made by one thread at a time and are seen by
    every match that begins after them. `errors` lists the subscriptions refused so far, by id; `version` counts the
    changes.
    """

    def __init__(self, schema: Schema, matcher: Matcher, limits: Limits = DEFAULT_LIMITS) -> None:
        self.schema = schema
        self.errors: list[tuple[str, FilterError]] = []
        self._matcher = matcher
        self._limits = limits
        self.version = 0

    @property
    def matcher(self) -> Matcher:
        """The algorithm at work."""
        return self._matcher

    def match(self, events: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch) -> Matches:
        """Which subscriptions each event satisfies. `EventError` if a value is of no domain; R1–R3 are not checked."""
        return self._matcher.match(self.schema.to_arrow(events))

    def add(self, subscriptions: Texts) -> list[tuple[str, FilterError]]:
        """Adds subscriptions; those whose filter is refused are returned with the reason, and the rest is added."""
        ids, texts = _columns(subscriptions)
        for id in ids.to_pylist():
            if id in self._matcher:
                raise SubscriptionError(f"there is a subscription {id!r} already; remove it first")
        bound = bind(texts, self.schema, self._limits)
        self._matcher.add(Subscriptions(ids, texts, bound))
        self.version += 1
        refused = [(ids[row].as_py(), error) for row, error in bound.errors]
        self.errors += refused
        return refused

    def remove(self, ids: Iterable[str]) -> None:
        """Removes subscriptions; all of them must be there, else none is removed."""
        given = [ids] if isinstance(ids, str) else list(dict.fromkeys(ids))
        for id in given:
            if id not in self._matcher:
                raise SubscriptionError(f"there is no subscription {id!r}")
        self._matcher.remove(given)
        self.version += 1

    def explain(self, event: Mapping[str, object], id: str) -> Explanation:
        """Every condition of a subscription on one event: held, failed, or absent; and the first to fail."""
        return explain(self.text(id), event, self.schema)

    def text(self, id: str) -> str:
        """A subscription's filter as it was written."""
        if id not in self._matcher:
            raise SubscriptionError(f"there is no subscription {id!r}")
        return self._matcher.text(id)

    def ids(self) -> pa.Array:
        """The ids of all subscriptions, in no particular order."""
        return self._matcher.ids()

    def __len__(self) -> int:
        return len(self._matcher)

    def __contains__(self, id: object) -> bool:
        return id in self._matcher

    def __repr__(self) -> str:
        return f"<Index of {len(self)} subscriptions, {self._matcher.name}>"

    def save(self, path: str | Path) -> None:
        """Writes the index as a folder that did not exist before; a crash leaves no folder of that name."""
        folder = Path(path)
        if folder.exists():
            raise IndexFileError(f"{folder} exists already; save to a new folder")
        temporary = folder.with_name(f".{folder.name}.{os.getpid()}.new")
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
            self._matcher.save(temporary)
            about = {"format": FORMAT, "matcher": self._matcher.name, "schema": self.schema.to_dict()}
            (temporary / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
            _flush(temporary)
            temporary.rename(folder)
            _flush(folder.parent)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            raise IndexFileError(f"cannot write {folder}: {error.strerror or error}") from error

    @classmethod
    def open(cls, path: str | Path, verify: bool = True) -> Index:
        """Maps a saved index into memory. `verify=False` skips the checksums, for a file that was verified before."""
        folder = Path(path)
        try:
            about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
            version, name, form = about["format"], about["matcher"], about["schema"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexFileError(f"{folder} is no saved index, or a damaged one: {error}") from error
        if version > FORMAT or name not in MATCHERS:
            raise IndexFileError(f"{folder} was written by a newer Tamis (format {version}, matcher {name!r})")
        schema = Schema.from_dict(form)
        return cls(schema, MATCHERS[name].open(folder, schema, verify))


def compile(
    subscriptions: Texts,
    schema: Schema,
    matcher: str = "columnar",
    statistics: Statistics | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Index:
    """Compiles `{id: filter}`, or an Arrow table with string columns `id` and `filter`, into an index.

    A filter that is refused does not stop the others: it is reported in `index.errors` under its id.
    """
    if matcher not in MATCHERS:
        raise TamisError(f"there is no matcher {matcher!r}; there are {', '.join(MATCHERS)}")
    ids, texts = _columns(subscriptions)
    bound = bind(texts, schema, limits)
    index = Index(schema, MATCHERS[matcher].build(Subscriptions(ids, texts, bound), schema, statistics), limits)
    index.errors = [(ids[row].as_py(), error) for row, error in bound.errors]
    return index


def _columns(subscriptions: Texts) -> tuple[pa.Array, pa.Array]:
    """Ids and filters as Arrow strings; ids are there, and there once."""
    if isinstance(subscriptions, Mapping):
        ids, texts = _strings(list(subscriptions), "id"), _strings(list(subscriptions.values()), "filter")
        return ids, texts
    missing = {"id", "filter"} - set(subscriptions.schema.names)
    if missing:
        raise SubscriptionError(f"the table of subscriptions has no column {' and '.join(map(repr, sorted(missing)))}")
    ids, texts = (_strings(subscriptions.column(name), name) for name in ("id", "filter"))
    if ids.null_count:
        raise SubscriptionError(f"row {pc.index(pc.is_null(ids), True).as_py()} of the subscriptions has no id")
    if (repeated := pc.value_counts(ids).filter(pc.greater(pc.value_counts(ids).field("counts"), 1))) and len(repeated):
        raise SubscriptionError(f"the id {repeated[0]['values'].as_py()!r} is given more than once; ids are unique")
    return ids, texts


def _strings(values: Any, name: str) -> pa.Array:
    try:
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if not isinstance(values, pa.Array):
            return pa.array(values, pa.string())
        return values.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise SubscriptionError(f"the column {name!r} of the subscriptions must hold strings: {error}") from error


def _flush(folder: Path) -> None:
    """Makes the folder's entries durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
