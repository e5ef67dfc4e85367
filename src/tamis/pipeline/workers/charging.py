"""Matching in Spark's workers (`Sieve`), its results as Arrow lists, and the charging of slow conditions to
subscriptions.

A desk is a folder that workers and the driver see. Each worker writes the costs of each subscription since the worker
began to a file of its own; the driver writes the subscriptions that are excluded from the batch under way. So an
expensive subscription is dropped from a batch before it is over, and without giving it up.
"""

from __future__ import annotations

import json
import os
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Bools, Floats, Int32s, Int64s
from tamis.engine import Index
from tamis.errors import EventError, PipelineError
from tamis.joins.server import JoinServer
from tamis.matching.base.matcher import Matches
from tamis.matching.codes.holders import Holders
from tamis.matching.patterns import PatternSet
from tamis.matching.patterns.metering import metered
from tamis.operators.learning import Lessons
from tamis.operators.values import json_bindings
from tamis.pipeline.table.calling import Report
from tamis.pipeline.table.subscriptions import Snapshot
from tamis.pipeline.table.versions import Live
from tamis.pipeline.workers.inputs import (
    VIOLATION,
    DeadCount,
    Pace,
    Read,
    Reader,
    canonical,
    in_rows,
    micro_batch,
    opened,
)
from tamis.pipeline.workers.packing import Packing
from tamis.schema import Schema

LEFT_OUT: Final = "left_out.json"
_TAKEN: Final = "taken"
_TICK: Final = 0.2  # seconds charged between two looks at the desk

# Costs in this process since it began, by desk and subscription.
_LIFE: Final = uuid.uuid4().hex
_taken: dict[str, dict[str, float]] = {}


class Charging:
    """Cost meter of one match with one index: charges the cost of a pattern, in equal parts, to the subscriptions that
    hold it.

    Or of the contents that a server of joins works out.
    """

    def __init__(self, index: Index | JoinServer, desk: str) -> None:
        if isinstance(index, Index) and not index.matcher.tells_holders:
            raise PipelineError(
                f"the matcher {index.matcher.name!r} does not tell whose slow patterns take how long, so nobody can be "
                "charged for them; compile the subscriptions with another, such as 'columnar'"
            )
        self._index = index
        self._desk = Path(desk)
        self._taken = _taken.setdefault(desk, {})
        self._untold = 0.0
        self._left_out = read_left_out(self._desk)
        self._sets: dict[int, tuple[PatternSet, _Set | None]] = {}

    def took(self, patterns: PatternSet, numbers: Int32s, seconds: Floats) -> None:
        found = self._set(patterns)
        if found is None:
            return
        for id, took in found.charges(numbers, seconds).items():
            self._taken[id] = self._taken.get(id, 0.0) + took
        self._untold += float(seconds.sum())
        if self._untold > _TICK:
            self.tell()
            if (left_out := read_left_out(self._desk)) != self._left_out:
                self._left_out = left_out
                for _, one in self._sets.values():
                    if one is not None:
                        one.leave_out(left_out)

    def left_out(self, patterns: PatternSet) -> Bools | None:
        if not self._left_out and id(patterns) not in self._sets:
            return None
        found = self._set(patterns)
        return None if found is None else found.mask

    def tell(self) -> None:
        """Writes the charges to the desk, if there are more than last time."""
        if self._untold:
            self._untold = 0.0
            _replace(self._desk / f"{_TAKEN}-{os.getpid()}.json", {"life": _LIFE, "seconds": self._taken})

    def _set(self, patterns: PatternSet) -> _Set | None:
        known = self._sets.get(id(patterns))
        if known is None:
            holders = self._index.holders_of(patterns)
            found = None if holders is None else _Set(holders, len(patterns), self._left_out)
            # The set is kept, so that no other can come to have its id meanwhile.
            known = self._sets[id(patterns)] = patterns, found
        return known[1]


class _Set:
    """Patterns of one attribute with their holders. `mask`: those that are not run any more.

    These are the patterns whose holders are all left out, and slow ones without a holder: an index keeps the patterns
    of subscriptions that were removed for a while.
    """

    def __init__(self, holders: Holders, patterns: int, left_out: frozenset[str]) -> None:
        self._holders = holders
        self._patterns = patterns
        self._shares = np.bincount(holders.patterns, minlength=patterns)
        self._idle = np.zeros(patterns, np.bool_)
        self.mask: Bools | None = None
        self.leave_out(left_out)

    def charges(self, numbers: Int32s, seconds: Floats) -> dict[str, float]:
        took = np.bincount(numbers, seconds, minlength=self._patterns)
        idle = (took > 0) & (self._shares == 0) & ~self._idle
        if idle.any():
            self._idle |= idle
            self.mask = self._idle | (False if self.mask is None else self.mask)
        each = took[self._holders.patterns] / self._shares[self._holders.patterns]
        charged = np.bincount(self._holders.subscriptions, each)
        payers = np.flatnonzero(charged)
        return {self._holders.subscribers.id_of(int(payer)): float(charged[payer]) for payer in payers}

    def leave_out(self, ids: frozenset[str]) -> None:
        places = [place for id in ids if (place := self._holders.subscribers.find(id)) is not None]
        out: npt.NDArray[np.bool_] = np.isin(self._holders.subscriptions, places)
        others = np.bincount(self._holders.patterns[~out], minlength=self._patterns)
        mask = ((others == 0) & (self._shares > 0)) | self._idle
        self.mask = mask if mask.any() else None


def read_left_out(desk: Path) -> frozenset[str]:
    """Ids of the subscriptions excluded from the batch under way."""
    try:
        return frozenset(json.loads((desk / LEFT_OUT).read_bytes()))
    except FileNotFoundError:
        return frozenset()


def write_left_out(desk: Path, ids: Iterable[str]) -> None:
    """Sets the excluded subscriptions. Called on the driver."""
    _replace(desk / LEFT_OUT, sorted(ids))


class Desk:
    """Desk on the driver: reads the workers' charges since the last time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, dict[str, float]] = {}

    def taken(self) -> dict[str, float]:
        """Seconds charged, by subscription."""
        more: dict[str, float] = {}
        for path in self._folder.glob(f"{_TAKEN}-*.json"):
            told = json.loads(path.read_bytes())
            before = self._known.get(told["life"], {})
            self._known[told["life"]] = told["seconds"]
            for id, seconds in told["seconds"].items():
                if seconds > before.get(id, 0.0):
                    more[id] = more.get(id, 0.0) + seconds - before.get(id, 0.0)
        return more


def _replace(path: Path, content: list[str] | Mapping[str, object]) -> None:
    """Replaces a file: readers see the old content or the new. A crash of the machine may lose both: they are about one
    batch.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(content))
    draft.replace(path)


# Sieve: reads the events of a task's batches, matches them, and puts the answers beside the rows.

# Matches as Arrow lists, one list an event, for the JVM. Flat arrays throughout, no object a match.
#
# Bindings are in a list beside the ids.

Form = Literal["map", "json"]
"""A map from names to values as texts, which Spark casts; or a JSON object, which keeps what is a number."""

_TYPES: dict[Form, pa.DataType] = {"map": pa.map_(pa.string(), pa.string()), "json": pa.string()}


def id_lists(matches: Matches) -> pa.ListArray:
    """Ids of each event's matches."""
    return listed_by(matches.offsets, matches.ids(matches.numbers).cast(pa.string()))


def number_lists(matches: Matches, first: int) -> pa.ListArray:
    """Numbers of each event's matches, counted from `first`."""
    return listed_by(matches.offsets, pa.array((matches.numbers + first).astype(np.int32, copy=False)))


def joined(parts: Sequence[pa.ListArray]) -> pa.ListArray:
    """Lists of all parts concatenated, row by row."""
    if len(parts) == 1:
        return parts[0]
    counts = [np.diff(_offsets(part)) for part in parts]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.sum(counts, axis=0))])
    places, filled = [], offsets[:-1].copy()
    for count in counts:
        starts = filled - (np.cumsum(count) - count)
        places.append(np.repeat(starts, count) + np.arange(int(count.sum())))
        filled += count
    order = np.empty(int(offsets[-1]), np.int64)
    order[np.concatenate(places)] = np.arange(len(order))
    return listed_by(offsets, pa.concat_arrays([part.flatten() for part in parts]).take(pa.array(order)))


def spread(lists: pa.ListArray, rows: Int64s, count: int) -> pa.ListArray:
    """Lists scattered into `count` rows: list i into row `rows[i]` (ascending), empty lists into the others."""
    counts = np.zeros(count, np.int64)
    counts[rows] = np.diff(_offsets(lists))
    return listed_by(np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), lists.flatten())


def lengths(lists: pa.ListArray) -> Int64s:
    """Length of each list."""
    return np.diff(_offsets(lists))


def listed_by(offsets: Int64s, values: pa.Array) -> pa.ListArray:
    """List array: list i is `values[offsets[i]:offsets[i + 1]]`."""
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


def _offsets(lists: pa.ListArray) -> Int64s:
    return lists.offsets.to_numpy().astype(np.int64)


def binding_lists(matches: Matches, form: Form) -> pa.ListArray:
    """Bindings of each match; null where the filter has no variables."""
    bound = matches.bindings()
    places = np.full(len(matches), -1, np.int64)
    if bound:
        events = np.array([one.event for one in bound], np.int64)
        concerned = np.zeros(matches.events, np.bool_)
        concerned[events] = True
        rows = np.repeat(np.arange(matches.events), matches.counts)
        candidates = np.flatnonzero(concerned[rows])
        named = pa.array([one.subscription for one in bound], pa.string())
        ids = matches.ids(matches.numbers[candidates]).cast(pa.string())
        codes = np.asarray(pa.concat_arrays([ids, named]).dictionary_encode().indices, np.int64)
        width = int(codes.max()) + 1
        pairs = rows[candidates] * width + codes[: len(ids)]  # an event and a subscription: no pair comes twice
        order = np.argsort(pairs)
        found = order[np.searchsorted(pairs[order], events * width + codes[len(ids) :])]
        places[candidates[found]] = np.arange(len(bound))
    values = pa.array([_written(one.variables, form) for one in bound], _TYPES[form])
    return listed_by(matches.offsets, values.take(pa.array(places, mask=places < 0)))


def _written(variables: Any, form: Form) -> Any:
    if form == "json":
        return json.dumps(json_bindings(variables))
    return [(name, _text(value)) for name, value in variables.items()]


def _text(value: object) -> str:
    """Text as Spark reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else str(value)


# Backtests: history may hold values that are in no domain, and one of them must not spoil the rest.


def legible(schema: Schema, events: pa.RecordBatch) -> tuple[pa.RecordBatch, npt.NDArray[np.int64]]:
    """Events whose values are all in their domains, in canonical form, and their rows. R1–R3 are not checked."""
    try:
        batch = schema.to_arrow(events)
        if not _has_nan(batch):
            return batch, np.arange(events.num_rows)
    except EventError:
        pass
    violations = schema.check(events, ignore_unknown=True).violations
    wrong = violations.filter(pc.is_in(violations["rule"], value_set=pa.array(["domain", "form"])))
    rows = np.setdiff1d(np.arange(events.num_rows), np.asarray(wrong["event"]))
    return schema.to_arrow(events.take(pa.array(rows))), rows


def _has_nan(batch: pa.RecordBatch) -> bool:
    for column in batch.columns:
        values = column.flatten() if pa.types.is_list(column.type) else column
        if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
            return True
    return False


# Matches in memory at a time; more with shards, for every round of events opens every shard once.
_MATCHES = 4_000_000
_MATCHES_A_ROUND = 32_000_000


@dataclass(frozen=True, slots=True)
class Sieve:
    """Matcher of a worker: returns the `kept` columns, the attributes where they were parsed (if `attributes` says so),
    the list of matches, their bindings (in the form of `bindings`, if asked for), and the violations where rows were
    checked. Sent to the workers by value: it holds paths, positions and operators only.

    `every` row comes out, or only those that match or are dead; or with `pairs` each as often as it matches, beside one
    match. `dead` is told how many dead ones there are, `report` what was learned of operators, where there are any.
    """

    source: Snapshot | Live
    reader: Reader
    kept: tuple[int, ...]
    numbers: bool
    every: bool
    pairs: bool
    dead: DeadCount | None = None
    attributes: bool = True
    bindings: Form | None = None
    report: Report | None = None
    packing: Packing | None = None
    records: tuple[int, ...] = ()

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        snapshot = self.source if isinstance(self.source, Snapshot) else _of_micro_batch(self.source)
        sharded = len(snapshot.parts) > 1
        pace = Pace(_MATCHES_A_ROUND if sharded else _MATCHES)
        dead, lessons = 0, Lessons()
        for pieces in pace.rounds(batches):
            reads = [self.reader.read(piece) for piece in pieces]
            if self.packing is not None:
                found = [self._numbers(snapshot, read) for read in reads]
                pace.saw(sum(len(read.rows) for read in reads), sum(len(numbers) for _, numbers in found))
                yield from self._in_segments(self.packing, pieces, reads, found)
                continue
            answers, more = self._matched(snapshot, reads)
            lessons += more
            pace.saw(sum(len(read.rows) for read in reads), sum(len(lists[0].flatten()) for lists in answers))
            dead += sum(len(read.dead) for read in reads)
            for piece, read, lists in zip(pieces, reads, answers, strict=True):
                yield self._output(piece, read, lists)
        if self.dead is not None:
            self.dead.tell(dead)
        if self.report is not None and snapshot.crew is not None:
            self.report.tell(snapshot.crew.ledger, lessons)

    def _matched(self, snapshot: Snapshot, reads: list[Read]) -> tuple[list[list[pa.ListArray]], Lessons]:
        """Lists of matches for each batch, of ids, and of bindings if asked for; and observations of operators.

        Every part is opened once; nothing of it is held when the next one is.
        """
        answers: list[list[list[pa.ListArray]]] = [[] for _ in reads]
        first, lessons = 0, Lessons()
        for part in snapshot.parts:
            index = opened(part, snapshot.crew, alone=len(snapshot.parts) > 1)
            names = 0
            charging = None if snapshot.desk is None else Charging(index, snapshot.desk)
            for read, lists in zip(reads, answers, strict=True):
                try:
                    with nullcontext() if charging is None else metered(charging):
                        matches = index.match(read.events)
                except EventError as error:
                    error.add_note(
                        "cast a column of another type; pipeline.validate sets single events aside, with the reason"
                    )
                    raise
                told = [number_lists(matches, first) if self.numbers else id_lists(matches)]
                if self.bindings is not None:
                    told.append(binding_lists(matches, self.bindings))
                lists.append(told)
                names = len(matches.names)
            if charging is not None:
                charging.tell()
            first += names
            if snapshot.crew is not None and index.calling is not None:
                lessons += index.calling.lessons()
        return [[joined(some) for some in zip(*lists, strict=True)] for lists in answers], lessons

    def _numbers(self, snapshot: Snapshot, read: Read) -> tuple[Int64s, Int64s]:
        """Of each event where its list ends, and the subscriptions' numbers, which their ids are texts of."""
        some: list[tuple[Int64s, Int64s]] = []
        for part in snapshot.parts:
            index = opened(part, snapshot.crew, alone=len(snapshot.parts) > 1)
            charging = None if snapshot.desk is None else Charging(index, snapshot.desk)
            with nullcontext() if charging is None else metered(charging):
                matches = index.match(read.events)
            if charging is not None:
                charging.tell()
            some.append((matches.offsets, numbers_of(matches.names)[matches.numbers]))
        if len(some) == 1:
            return some[0]
        ranks = np.concatenate([np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) for offsets, _ in some])
        order = np.argsort(ranks, kind="stable")
        counts = np.bincount(ranks, minlength=read.events.num_rows)
        return np.append(0, np.cumsum(counts)), np.concatenate([numbers for _, numbers in some])[order]

    def _in_segments(
        self, packing: Packing, pieces: list[pa.RecordBatch], reads: list[Read], found: list[tuple[Int64s, Int64s]]
    ) -> Iterator[pa.RecordBatch]:
        """Dead rows as they are, and one row for all matches of a round."""
        for piece, read in zip(pieces, reads, strict=True):
            if len(read.dead) and read.violations is not None:
                dead = pa.array(read.dead)
                columns = [piece.column(place).take(dead) for place in self.kept]
                none = [pa.nulls(len(dead), pa.binary()), pa.nulls(len(dead), pa.string())]
                yield _unnamed([*columns, *none, read.violations.take(dead)])
        records = [_unnamed([piece.column(place) for place in self.records]) for piece in pieces]
        packed = packing.packed(records, [read.rows for read in reads], *map(list, zip(*found, strict=True)))
        if packed is not None:
            content, name = packed
            columns = [pa.nulls(1, pieces[0].column(place).type) for place in self.kept]
            values = [pa.array([content], pa.binary()), pa.array([name], pa.string())]
            yield _unnamed([*columns, *values, pa.nulls(1, pa.list_(VIOLATION))])

    def _output(self, piece: pa.RecordBatch, read: Read, answers: list[pa.ListArray]) -> pa.RecordBatch:
        count = piece.num_rows
        columns = [piece.column(place) for place in self.kept]
        if self.reader.json and self.attributes:
            columns += in_rows(canonical(self.reader.schema, read.events), read.rows, count)
        if len(read.rows) < count:
            answers = [spread(lists, read.rows, count) for lists in answers]
        matched = lengths(answers[0])
        if self.pairs:
            repeated = pa.array(np.repeat(np.arange(count), matched))
            return _unnamed([*(column.take(repeated) for column in columns), *(lists.flatten() for lists in answers)])
        columns += answers
        if read.violations is not None:
            columns.append(read.violations)
        output = _unnamed(columns)
        if not self.every:
            wanted = matched > 0
            wanted[read.dead] = True
            if not wanted.all():
                output = output.take(pa.array(np.flatnonzero(wanted)))
        return output


_numbered: OrderedDict[tuple[int, int, int], tuple[pa.Array, Int64s]] = OrderedDict()
_NUMBERED: Final = 64


def numbers_of(names: pa.ChunkedArray) -> Int64s:
    """Ids that are texts of numbers as numbers; what was asked last is remembered, piece by piece."""
    some = []
    for piece in names.chunks:
        data = piece.buffers()[-1]
        key = (0 if data is None else data.address, piece.offset, len(piece))
        if key not in _numbered:
            # The piece is kept, so that nothing else comes to its address.
            _numbered[key] = (piece, np.asarray(piece.cast(pa.int64())))
            while len(_numbered) > _NUMBERED:
                _numbered.popitem(last=False)
        _numbered.move_to_end(key)
        some.append(_numbered[key][1])
    return some[0] if len(some) == 1 else np.concatenate([np.empty(0, np.int64), *some])


def _unnamed(columns: list[pa.Array]) -> pa.RecordBatch:
    """Batch with columns by place, as Spark takes them."""
    return pa.RecordBatch.from_arrays(columns, [f"c{place}" for place in range(len(columns))])


def _of_micro_batch(source: Live) -> Snapshot:
    found = micro_batch()
    if found is None:
        raise PipelineError("a changing table of subscriptions is matched by micro-batches, and this task is in none")
    return source.snapshot(*found)
