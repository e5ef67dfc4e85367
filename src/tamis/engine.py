"""Engine: `compile` makes an `Index` of filters, operator calls and joins: matched, changed, explained, saved."""

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
from tamis.joins.join_part import JoinExplanation, JoinPart
from tamis.joins.netting import ResultChanges
from tamis.joins.server import JoinServer
from tamis.language import DEFAULT_LIMITS, NO_OPERATORS, Limits, Signatures
from tamis.matching.base.matcher import Matcher, Matches
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.holders import Holders
from tamis.matching.explanation import Explanation
from tamis.matching.matchers import MATCHERS, Choice, FilterPart, IndexPart
from tamis.matching.patterns import PatternSet
from tamis.matching.taking_in import BoundSubscriptions, GivenTexts, bound_subscriptions
from tamis.operators import Operator
from tamis.operators.health import OperatorTable
from tamis.operators.matcher import calling_part, open_calling_part
from tamis.operators.part import CallingPart
from tamis.schema import Schema

FORMATS = (FilterPart.FORMAT, CallingPart.FORMAT, JoinPart.FORMAT)  # those that write the first know no operators
_ABOUT = "index.json"

Operators: TypeAlias = Iterable[Operator | str]
"""Operators themselves, or the names of operators that installed packages offer."""


@dataclass(frozen=True, slots=True)
class JoinChanges:
    """Changes that a batch of events made to joins, and the events refused."""

    results: ResultChanges
    refused: list[Violation]

    @property
    def by_subscription(self) -> dict[str, ContentChange]:
        """Changes of the content of each affected subscription, by id."""
        return self.results.by_subscription

    def to_arrow(self) -> list[pa.Table]:
        """Changes as tables of `subscription`, `change` (added or removed), `event` and `row`, one per form of rows."""
        return self.results.tables


class Index:
    """Subscriptions compiled for matching under one schema, in parts: filters, filters with calls, joins.

    A subscription is in one part. Any number of threads may match at once; changes (`add`, `remove`) are made by one
    thread at a time and are seen by every match that begins after them. `errors` lists the subscriptions refused so
    far, by id; `version` counts the changes.
    """

    def __init__(
        self,
        schema: Schema,
        matcher: Matcher,
        limits: Limits = DEFAULT_LIMITS,
        calling: CallingPart | None = None,
        joins: JoinPart | None = None,
    ) -> None:
        self.schema = schema
        self.limits = limits
        self.errors: list[tuple[str, FilterError]] = []
        self.version = 0
        self._filters = FilterPart(matcher, schema, limits)
        self._calling = calling  # None where there are no operators to call
        self._joins = joins  # None where the schema has no tables, until somebody asks
        if joins is None and schema.tables:
            self._joins = JoinPart(schema, limits=limits)
        every: tuple[IndexPart | None, ...] = (self._filters, self._calling, self._joins)
        self._parts = tuple(part for part in every if part is not None)

    @property
    def joins(self) -> JoinServer:
        """Join server: the tables, and the subscriptions that join them."""
        if self._joins is None:
            self._joins = JoinPart(self.schema, limits=self.limits)
        return self._joins

    @property
    def matcher(self) -> Matcher:
        """Matcher of the plain filters."""
        return self._filters.matcher

    @property
    def calling(self) -> CallingPart | None:
        """Part of the subscriptions that call operators; None where there are no operators to call."""
        return self._calling

    @property
    def signatures(self) -> Signatures:
        """Signatures of the operators that filters may call, for the language."""
        return NO_OPERATORS if self._calling is None else self._calling.signatures

    def match(self, events: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch) -> Matches:
        """Matches of events: the subscriptions that each satisfies.

        `EventError` if a value is of no domain; R1–R3 are not checked.
        """
        batch = self.schema.to_arrow(events)
        found = self._filters.match(batch)
        return found.and_also(*self._calling.match(batch)) if self._calling else found

    def holders_of(self, patterns: PatternSet) -> Holders | None:
        """Subscriptions that hold the patterns of a set, of whichever part it is; None if it is not this index's.

        Asked by the meter of a match that is under way (`metering.Meter`), in its thread.
        """
        holders = self.matcher.holders_of(patterns)
        return self._calling.holders_of(patterns) if holders is None and self._calling is not None else holders

    def apply(self, events: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch) -> JoinChanges:
        """Applies events to the tables of joins; returns how the content of joins changed."""
        applied = self.joins.apply(events)
        return JoinChanges(self.joins.results(applied), applied.refused)

    def add(self, subscriptions: GivenTexts | BoundSubscriptions) -> list[tuple[str, FilterError]]:
        """Adds subscriptions; those whose filter is refused are returned with the reason, and the rest is added.

        They may have been read before, by `bound_subscriptions` under this schema, these limits and `signatures`.
        """
        new = subscriptions
        if not isinstance(new, BoundSubscriptions):
            new = bound_subscriptions(new, self.schema, self.limits, self.signatures)
        for id in new.ids:
            if id in self:
                raise SubscriptionError(f"there is a subscription {id!r} already; remove it first")
        for part in self._parts:
            part.add(new)
        self.version += 1
        refused = new.refused
        self.errors += refused
        return refused

    def remove(self, ids: Iterable[str]) -> None:
        """Removes subscriptions; all of them must be present, else none is removed."""
        leaving: dict[IndexPart, list[str]] = {part: [] for part in self._parts}
        for id in [ids] if isinstance(ids, str) else dict.fromkeys(ids):
            leaving[self._part(id)].append(id)
        for part, some in leaving.items():
            if some:
                part.remove(some)
        self.version += 1

    def explain(self, event: Mapping[str, object], id: str) -> Explanation | JoinExplanation:
        """Explains every condition of a subscription on one event: held, failed, or absent; and the first to fail.

        Of a subscription that calls operators also the evaluations, in their order, and what they decided. Of a join
        the conditions on the event's table, and the rows that the event would join with in the current tables.
        """
        return self._part(id).explain(event, id)

    @property
    def operators(self) -> OperatorTable:
        """Statistics of the operators that filters may call: cost, calls, failures, how often each held."""
        return OperatorTable([]) if self._calling is None else self._calling.statistics()

    def text(self, id: str) -> str:
        """Text of a subscription as it was written."""
        return self._part(id).text(id)

    def ids(self) -> pa.Array:
        """Ids of all subscriptions, in no particular order."""
        plain, *others = (part.ids() for part in self._parts)
        more = [id for some in others for id in some]
        return pa.concat_arrays([plain, pa.array(more, plain.type)]) if more else plain

    def calling_ids(self) -> list[str]:
        """Ids of the subscriptions that call operators."""
        return [] if self._calling is None else self._calling.ids()

    def _part(self, id: str) -> IndexPart:
        """Part that has a subscription."""
        for part in self._parts:
            if id in part:
                return part
        raise SubscriptionError(f"there is no subscription {id!r}")

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __contains__(self, id: object) -> bool:
        return any(id in part for part in self._parts)

    def __repr__(self) -> str:
        return f"<Index of {len(self)} subscriptions, {self.matcher.name}>"

    def save(self, path: str | Path) -> None:
        """Writes the index as a folder that did not exist before; a crash leaves no folder of that name."""
        folder = Path(path)
        if os.path.lexists(folder):
            raise IndexFileError(f"{folder} exists already; save to a new folder")
        temporary = folder.with_name(f".{folder.name}.{os.getpid()}.new")
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
            about: dict[str, Any] = {"format": max(part.FORMAT for part in self._parts)}
            about |= {"schema": self.schema.to_dict(), "limits": asdict(self.limits)}
            for part in self._parts:
                about |= part.save(temporary)
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
        calling = open_calling_part(folder, about.get("operators"), operators, schema, limits)
        joins = JoinPart.open(folder, about, schema, limits, verify) if schema.tables else None
        return cls(schema, matcher, limits, calling, joins)


def compile(
    subscriptions: GivenTexts,
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
        calling = calling_part(operators, schema, limits, schedule, choice.matcher, statistics)
    new = bound_subscriptions(subscriptions, schema, limits, NO_OPERATORS if calling is None else calling.signatures)
    return compiled(new, schema, choice.build(new.plain, schema, statistics), limits, calling)


def compiled(
    new: BoundSubscriptions,
    schema: Schema,
    matcher: Matcher,
    limits: Limits = DEFAULT_LIMITS,
    calling: CallingPart | None = None,
) -> Index:
    """Index of subscriptions that the language has read, the plain filters of which are in a matcher already."""
    index = Index(schema, matcher, limits, calling)
    if calling is not None:
        calling.add(new)
    if new.joins is not None:
        index.joins.add(new)
    index.errors = new.refused
    return index


def _about(folder: Path) -> dict[str, Any]:
    """Description of a saved index (its `index.json`)."""
    try:
        about: dict[str, Any] = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        version, name, checksum = about["format"], about["matcher"], about.pop("checksum")
        newer = version > max(FORMATS) or name not in MATCHERS
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
    """Limits that an index was compiled under."""
    try:
        return Limits(**given)
    except TypeError as error:
        raise IndexFileError(f"{folder} was written by another Tamis, whose limits are others; compile anew") from error


def _checksum(about: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(about).encode())
