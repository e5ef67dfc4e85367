"""Sieve of a worker: reads the events of its task's batches, matches them, puts the answers beside the rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tamis.errors import EventError, PipelineError
from tamis.matching.patterns.metering import metered
from tamis.operators.learning import Lessons
from tamis.pipeline.calling.ledger import Report
from tamis.pipeline.table.subscriptions import Snapshot
from tamis.pipeline.table.versions import Live
from tamis.pipeline.workers.charging import Charging
from tamis.pipeline.workers.lists import Form, binding_lists, id_lists, joined, lengths, number_lists, spread
from tamis.pipeline.workers.opened import DeadCount, micro_batch, opened
from tamis.pipeline.workers.reading import Pace, Read, Reader, canonical, in_rows

# So many matches are in memory at a time; with shards more, for every round of events opens every shard once.
_MATCHES = 4_000_000
_MATCHES_A_ROUND = 32_000_000


@dataclass(frozen=True, slots=True)
class Sieve:
    """Rows in; out come the `kept` columns, the attributes where they were parsed (if `attributes` says so), the
    list of matches, what their variables are bound to (in the form of `bindings`, if asked for), and the violations
    where rows were checked. Sent to the workers by value: it holds paths, positions and operators only.

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

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        snapshot = self.source if isinstance(self.source, Snapshot) else _of_micro_batch(self.source)
        sharded = len(snapshot.parts) > 1
        pace = Pace(_MATCHES_A_ROUND if sharded else _MATCHES)
        dead, lessons = 0, Lessons()
        for pieces in pace.rounds(batches):
            reads = [self.reader.read(piece) for piece in pieces]
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
        """For each batch a list an event, of ids, and of bindings if asked for; and what was learned of operators.

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


def _unnamed(columns: list[pa.Array]) -> pa.RecordBatch:
    """Spark takes the columns by their places."""
    return pa.RecordBatch.from_arrays(columns, [f"c{place}" for place in range(len(columns))])


def _of_micro_batch(source: Live) -> Snapshot:
    found = micro_batch()
    if found is None:
        raise PipelineError("a changing table of subscriptions is matched by micro-batches, and this task is in none")
    return source.snapshot(*found)
