"""Subscriptions in, matches out: the rooms below put together behind one class."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from tamis.durable import flush
from tamis.errors import FilterError, IndexFileError, SubscriptionError, Violation
from tamis.joins.client import ContentChange
from tamis.joins.explanation import JoinExplanation, explain_join
from tamis.joins.result_changes import ResultChanges
from tamis.joins.saved import open_joins, save_joins
from tamis.joins.server import JoinServer
from tamis.language import DEFAULT_LIMITS, NO_OPERATORS, Limits
from tamis.language.joins import are_joins
from tamis.matching.explanation import Explanation, explain
from tamis.matching.matcher import Matcher
from tamis.matching.matchers import MATCHERS, Choice
from tamis.matching.matches import Matches
from tamis.matching.statistics import Statistics
from tamis.matching.taking_in import Texts, bound, ids_of, refused_of, texts_of
from tamis.operators import Operator
from tamis.operators.calling_part import CallingPart
from tamis.operators.splitting import plain_part
from tamis.operators.statistics import OperatorTable
from tamis.schema import Schema

FORMAT = 1
CALLING_FORMAT = 2  # with operators, which those that write the first know nothing of
JOINS_FORMAT = 3  # with tables, and the joins over them
_ABOUT = "index.json"

Operators: TypeAlias = Iterable[Operator | str]
"""Operators themselves, or the names of operators that installed packages offer."""


@dataclass(frozen=True, slots=True)
class JoinChanges:
    """What a batch of events did to joins, and the events refused."""

    results: ResultChanges
    refused: list[Violation]

    @property
    def by_subscription(self) -> dict[str, ContentChange]:
        """How the content of each affected subscription changed, by id."""
        return self.results.by_subscription

    def to_arrow(self) -> list[pa.Table]:
        """The same as tables of `subscription`, `change` (added or removed), `event` and `row`, one a form of rows."""
        return self.results.tables


class Index:
    """Subscriptions compiled for matching under one schema.

    Any number of threads may match at once; changes (`add`, `remove`) are made by one thread at a time and are seen by
    every match that begins after them. `errors` lists the subscriptions refused so far, by id; `version` counts the
    changes.
    """

    def __init__(
        self,
        schema: Schema,
        matcher: Matcher,
        limits: Limits = DEFAULT_LIMITS,
        calling: CallingPart | None = None,
        joins: JoinServer | None = None,
    ) -> None:
        self.schema = schema
        self.errors: list[tuple[str, FilterError]] = []
        self._matcher = matcher
        self._limits = limits
        self._calling = calling  # those subscriptions that call operators; None where there are no operators to call
        self._operators = NO_OPERATORS if calling is None else calling.signatures
        self._joins = JoinServer(schema, limits=limits) if joins is None else joins
        self.version = 0

    @property
    def joins(self) -> JoinServer:
        """The tables, and those subscriptions that join them."""
        return self._joins

    @property
    def matcher(self) -> Matcher:
        """The algorithm at work."""
        return self._matcher

    @property
    def calling(self) -> CallingPart | None:
        """The part of the subscriptions that calls operators; None where there are no operators to call."""
        return self._calling

    def match(self, events: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch) -> Matches:
        """Which subscriptions each event satisfies. `EventError` if a value is of no domain; R1–R3 are not checked."""
        batch = self.schema.to_arrow(events)
        found = self._matcher.match(batch)
        return found.and_also(*self._calling.match(batch)) if self._calling else found

    def apply(self, events: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch) -> JoinChanges:
        """Makes the changes of tables that events ask for, and says how the content of joins changed."""
        applied = self._joins.apply(events)
        return JoinChanges(self._joins.results(applied), applied.refused)

    def add(self, subscriptions: Texts) -> list[tuple[str, FilterError]]:
        """Adds subscriptions; those whose filter is refused are returned with the reason, and the rest is added."""
        ids = ids_of(subscriptions)
        for id in ids.to_pylist():
            if id in self:
                raise SubscriptionError(f"there is a subscription {id!r} already; remove it first")
        subscriptions, joins = _separated(ids, subscriptions, self.schema)
        new = bound(ids_of(subscriptions), subscriptions, self.schema, self._limits, self._operators)
        self._matcher.add(plain_part(new))
        if self._calling is not None:
            self._calling.add(new)
        refused = [*refused_of(new), *self._joins.add(joins)]
        self.version += 1
        self.errors += refused
        return refused

    def remove(self, ids: Iterable[str]) -> None:
        """Removes subscriptions; all of them must be there, else none is removed."""
        given = [ids] if isinstance(ids, str) else list(dict.fromkeys(ids))
        for id in given:
            if id not in self:
                raise SubscriptionError(f"there is no subscription {id!r}")
        if joined := [id for id in given if id in self._joins]:
            self._joins.remove(joined)
            given = [id for id in given if id not in joined]
        if self._calling:
            self._calling.remove([id for id in given if id in self._calling])
        self._matcher.remove([id for id in given if id in self._matcher] if self._calling is not None else given)
        self.version += 1

    def explain(self, event: Mapping[str, object], id: str) -> Explanation | JoinExplanation:
        """Every condition of a subscription on one event: held, failed, or absent; and the first to fail.

        Of a subscription that calls operators also what was evaluated, in which order, and what that decided. Of a join
        the conditions on the event's table, and what the event would be joined with as the tables are now.
        """
        text = self.text(id)
        if id in self._joins:
            return explain_join(self._joins, id, event)
        if self._calling and id in self._calling:
            return self._calling.explain(self.schema.to_arrow([event]), id)
        return explain(text, event, self.schema, self._limits)

    @property
    def operators(self) -> OperatorTable:
        """The operators that filters may call: cost, calls, failures, how often each held."""
        return OperatorTable([]) if self._calling is None else self._calling.statistics()

    def text(self, id: str) -> str:
        """A subscription's filter as it was written."""
        if id not in self:
            raise SubscriptionError(f"there is no subscription {id!r}")
        if id in self._joins:
            return self._joins.text(id)
        return self._calling.text(id) if self._calling and id in self._calling else self._matcher.text(id)

    def ids(self) -> pa.Array:
        """The ids of all subscriptions, in no particular order."""
        plain = self._matcher.ids()
        others = [*(self._calling.ids() if self._calling else ()), *self._joins.ids()]
        return pa.concat_arrays([plain, pa.array(others, plain.type)]) if others else plain

    def calling_ids(self) -> list[str]:
        """The ids of those subscriptions that call operators."""
        return self._calling.ids() if self._calling else []

    def __len__(self) -> int:
        return len(self._matcher) + (len(self._calling) if self._calling else 0) + len(self._joins)

    def __contains__(self, id: object) -> bool:
        return id in self._matcher or (self._calling is not None and id in self._calling) or id in self._joins

    def __repr__(self) -> str:
        return f"<Index of {len(self)} subscriptions, {self._matcher.name}>"

    def save(self, path: str | Path) -> None:
        """Writes the index as a folder that did not exist before; a crash leaves no folder of that name."""
        folder = Path(path)
        if os.path.lexists(folder):
            raise IndexFileError(f"{folder} exists already; save to a new folder")
        temporary = folder.with_name(f".{folder.name}.{os.getpid()}.new")
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
            self._matcher.save(temporary)
            about = {"format": FORMAT, "matcher": self._matcher.name, "schema": self.schema.to_dict()}
            about |= {"limits": asdict(self._limits)}
            if self._calling is not None:
                about |= {"format": CALLING_FORMAT, "operators": self._calling.save(temporary)}
            if self.schema.tables:
                about |= {"format": JOINS_FORMAT, "joins": save_joins(self._joins, temporary)}
            text = json.dumps(about | {"checksum": _checksum(about)})
            (temporary / _ABOUT).write_text(text, encoding="utf-8")
            flush(temporary / _ABOUT)
            flush(temporary)
            temporary.rename(folder)
            flush(folder.parent)
        except OSError as error:
            raise IndexFileError(f"cannot write {folder}: {error.strerror or error}") from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    @classmethod
    def open(cls, path: str | Path, verify: bool = True, operators: Operators | None = None) -> Index:
        """Maps a saved index into memory. `verify=False` skips the checksums, for a file that was verified before.

        Operators that its filters call and that are not handed over are looked for among installed packages.
        """
        folder = Path(path)
        about = _about(folder)
        schema, limits = Schema.from_dict(about["schema"]), _limits(folder, about["limits"])
        matcher = MATCHERS[about["matcher"]].open(folder, schema, verify)
        calling = CallingPart.open(folder, about.get("operators"), operators, schema, limits)
        index = cls(schema, matcher, limits, calling)
        if "joins" in about:
            open_joins(index.joins, folder, about["joins"], verify)
        return index


def compile(
    subscriptions: Texts,
    schema: Schema,
    matcher: str = "columnar",
    statistics: Statistics | None = None,
    limits: Limits = DEFAULT_LIMITS,
    options: Mapping[str, Any] | None = None,
    operators: Operators | None = None,
    schedule: str = "adaptive",
) -> Index:
    """Compiles `{id: filter}`, or an Arrow table with string columns `id` and `filter`, into an index.

    A text that begins with SELECT is a join of the schema's tables and goes to `index.joins`.

    A filter that is refused does not stop the others: it is reported in `index.errors` under its id. `options` are the
    matcher's own, if it has any; they are saved with the index. `matcher` is one of `MATCHERS`, or "auto" for the one
    that is fastest by all that was measured; `index.matcher.name` tells which that is. Filters may call the
    `operators`, in an order that the `schedule` decides.
    """
    choice = Choice.of(matcher, options)
    calling = None
    if operators is not None:
        calling = CallingPart.of(operators, schema, limits, schedule, choice.matcher, statistics)
    signatures = NO_OPERATORS if calling is None else calling.signatures
    subscriptions, joins = _separated(ids_of(subscriptions), subscriptions, schema)
    new = bound(ids_of(subscriptions), subscriptions, schema, limits, signatures)
    index = Index(schema, choice.build(plain_part(new), schema, statistics), limits, calling)
    if calling is not None:
        calling.add(new)
    index.errors = [*refused_of(new), *index.joins.add(joins)]
    return index


def _separated(ids: pa.Array, subscriptions: Texts, schema: Schema) -> tuple[Texts, Mapping[str, str] | pa.Table]:
    """The filters, and the joins, of which there are none where there are no tables."""
    if not schema.tables:
        return subscriptions, {}
    texts, _ = texts_of(subscriptions)
    found = are_joins(texts)
    if not found.any():
        return subscriptions, {}
    mask = pa.array(found)
    joins = pa.table({"id": ids, "filter": texts}).filter(mask)
    if isinstance(subscriptions, Mapping):
        pairs = zip(subscriptions.items(), found.tolist(), strict=True)
        return {id: text for (id, text), is_join in pairs if not is_join}, joins
    return pa.table({"id": ids, "filter": texts}).filter(pa.array(~found)), joins


def _about(folder: Path) -> dict[str, Any]:
    """What a saved index says of itself."""
    try:
        about: dict[str, Any] = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        version, name, checksum = about["format"], about["matcher"], about.pop("checksum")
        newer = version > JOINS_FORMAT or name not in MATCHERS
    except OSError as error:
        raise IndexFileError(f"{folder} is no saved index: cannot read {_ABOUT} in it: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IndexFileError(f"{folder / _ABOUT} is damaged, or not of Tamis; compile anew") from error
    if newer:
        raise IndexFileError(f"{folder} was written by a newer Tamis (format {version}, matcher {name!r})")
    if checksum != _checksum(about):
        raise IndexFileError(f"{folder / _ABOUT} is damaged: it does not agree with its checksum; compile anew")
    return about


def _limits(folder: Path, given: Mapping[str, int]) -> Limits:
    """Those that an index was compiled under."""
    try:
        return Limits(**given)
    except TypeError as error:
        raise IndexFileError(f"{folder} was written by another Tamis, whose limits are others; compile anew") from error


def _checksum(about: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(about).encode())
