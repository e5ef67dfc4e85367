"""`tamis match`: finds the subscriptions that each event matches, in this process or on Spark."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import typer

from tamis.arrays import Int64s
from tamis.cli.base.options import (
    PARTLY_REFUSED,
    STREAM,
    BatchRowsOption,
    CommandError,
    DeadLettersOption,
    EventsArgument,
    IgnoreUnknownOption,
    MatcherOption,
    MatcherOptionsOption,
    OperatorsOption,
    RefusedOption,
    ScheduleOption,
    SchemaOption,
    SubscriptionsArgument,
    matcher_options,
    operators_of,
)
from tamis.cli.base.terminal import progress_bar, remark
from tamis.cli.work.tables import JsonLines, TableWriter, json_rows, table_writer
from tamis.engine import Index
from tamis.matching.base.matcher import Matches
from tamis.schema import Schema

if TYPE_CHECKING:
    from rich.progress import Progress

    from tamis.cli.work.events import EventFiles
    from tamis.cli.work.tables import DeadLetters, TableWriter
    from tamis.engine import Index


def match(
    subscriptions: SubscriptionsArgument,
    events: EventsArgument,
    schema: SchemaOption = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write matches to this file (.jsonl, .parquet, .csv); - is standard output.",
        ),
    ] = STREAM,
    changes_to: Annotated[
        Path | None,
        typer.Option(
            "--changes",
            metavar="FILE",
            help="Write changes of joins' results to this file (.jsonl, .parquet, .csv): the event's position in the "
            "input, the subscription, added or removed, and the result as JSON.",
            show_default=False,
        ),
    ] = None,
    dead_letters_to: DeadLettersOption = None,
    refused_to: RefusedOption = None,
    arrays: Annotated[
        bool, typer.Option("--arrays", help="One row per event with all its subscriptions, not one row per match.")
    ] = False,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="Give an event's position in the input (from 0), not its attributes.")
    ] = False,
    spark: Annotated[bool, typer.Option("--spark", help="Run on Spark (needs the spark extra and Java 17+).")] = False,
    matcher: MatcherOption = None,
    option: MatcherOptionsOption = None,
    operators: OperatorsOption = None,
    schedule: ScheduleOption = None,
    ignore_unknown: IgnoreUnknownOption = False,
    batch_rows: BatchRowsOption = 10_000,
) -> None:
    """Find the subscriptions that each event matches.

    Events that break the schema are dead letters: they are set aside with the reason and do not stop the others. The
    tables of joins begin as they were saved with the index, and change by the events in order.

    \b
    [bold]Examples[/bold]
      tamis match subscriptions.jsonl events.jsonl --schema auctions.yaml
      tamis match auctions.index events/ -o matches.parquet
      tamis match auctions.index events.parquet --dead-letters dead.jsonl
      zcat events.jsonl.gz | tamis match auctions.index - --arrays
      tamis match stocks.index quotes.jsonl --changes changes.jsonl
      tamis match auctions.index events/ -o matches/ --spark
      tamis match subscriptions.jsonl events.jsonl -s auctions.yaml --matcher tree
      tamis match watch.index shots.parquet --operators watch:mob_pattern

    \b
    [bold]Exit codes[/bold]
      0  all done
      1  done, but some events or subscriptions were refused
      2  not done
    """
    from tamis.cli.work.events import EventFiles
    from tamis.cli.work.indexes import Algorithms, index_of, schema_for
    from tamis.cli.work.subscriptions import report
    from tamis.cli.work.tables import dead_letters, require_tables, table_writer

    files = EventFiles(events, ignore_unknown=ignore_unknown)
    how = Algorithms(matcher, matcher_options(option), schedule)
    if spark:
        if changes_to is not None:
            raise CommandError("--changes is not written by Spark here: leave --spark out, or use pipeline.join")
        if numbers or output == STREAM:
            raise CommandError("--spark writes folders of rows without a position: use --output, and not --numbers")
        from tamis.cli.work.indexes import match_on_spark

        match_on_spark(
            subscriptions,
            files,
            schema_for(schema, subscriptions, files),
            output,
            dead_letters_to,
            refused_to,
            operators_of(operators),
            how,
            arrays=arrays,
            ignore_unknown=ignore_unknown,
        )
        return
    require_tables(dead_letters_to, refused_to, changes_to, output)
    compiled = index_of(subscriptions, schema_for(schema, subscriptions, files), operators_of(operators), how)
    report(compiled.refused, refused_to)
    form = ResultForm(compiled.index.schema, arrays=arrays, numbers=numbers)
    joins = len(compiled.index.joins)
    if joins and changes_to is None:
        remark(f"{joins:,} joins are passed over: --changes FILE takes how their contents change")
    with (
        table_writer(output, form.schema) as writer,
        dead_letters(dead_letters_to) as dead,
        nullcontext() if changes_to is None else join_changes(changes_to, compiled.index) as changes,
    ):
        bar = progress_bar(results_on_screen=output == STREAM)
        _match(compiled.index, files, form, writer, dead, changes, batch_rows, bar)
    if changes is not None and changes.refused:
        remark(f"{changes.refused:,} changes were refused by their tables, see {changes_to}")
    if dead.events or (changes is not None and changes.refused) or compiled.refused:
        raise typer.Exit(PARTLY_REFUSED)


def _match(
    index: Index,
    files: EventFiles,
    form: ResultForm,
    writer: TableWriter,
    dead: DeadLetters,
    changes: JoinChangesFile | None,
    batch_rows: int,
    bar: Progress,
) -> None:
    events = matched = 0
    start = time.perf_counter()
    with bar:
        task = bar.add_task("matching", total=files.size, note="")
        for batch in files.batches(index.schema, batch_rows):
            dead.put(batch.dead)
            matches = index.match(batch.valid)
            form.write(writer, batch.valid, batch.numbers, matches)
            if changes is not None:
                changes.put(batch.valid, batch.numbers)
            events += batch.events
            matched += len(matches)
            bar.update(task, completed=batch.consumed, note=f"{events:,} events, {matched:,} matches")
    seconds = time.perf_counter() - start
    rate = f"{events / seconds:,.0f} events/s" if seconds > 0 else ""
    remark(f"{events:,} events, {matched:,} matches, {dead.events:,} dead letters in {seconds:.1f} s ({rate})")


# Matches and changes of joins as tables: a row per match, event, or join result that came or went.

_ROWS_AT_ONCE = 200_000

CHANGES = pa.schema(
    {
        "event": pa.int64(),
        "subscription": pa.string(),
        "change": pa.string(),
        "row": pa.string(),
        "message": pa.string(),
    }
)
REFUSED = "refused"


class ResultForm:
    """Form of the results: the columns of a row.

    The event: its attributes, or with `numbers` its position in the input. The subscriptions: one a row in
    `subscription`, or with `arrays` all of the event's in `subscriptions`. Events that match nothing have no row.
    """

    def __init__(self, schema: Schema, *, arrays: bool, numbers: bool) -> None:
        self._arrays = arrays
        self._numbers = numbers
        self.column = "subscriptions" if arrays else "subscription"
        if not numbers and self.column in schema.attributes:
            raise CommandError(f"the schema has an attribute {self.column}; --numbers gives results without attributes")
        event = pa.schema({"event": pa.int64()}) if numbers else schema.arrow_schema
        self.schema = event.append(pa.field(self.column, pa.list_(pa.string()) if arrays else pa.string()))

    def write(self, writer: TableWriter, batch: pa.RecordBatch, numbers: Int64s, matches: Matches) -> None:
        for events, offsets in _pieces(matches.offsets):
            ids = matches.ids(matches.numbers[offsets[0] : offsets[-1]])
            rows = numbers[events] if self._numbers else self._columns(batch.take(pa.array(events)))
            if isinstance(writer, JsonLines) and not self._arrays:
                writer.write_lines(self._lines(rows, offsets, ids))
            else:
                writer.write(self._table(rows, offsets, ids))

    def _columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """All columns of the schema: files with different columns must not change the results' form."""
        have = set(batch.schema.names)
        columns = [
            batch.column(f.name) if f.name in have else pa.nulls(len(batch), f.type) for f in list(self.schema)[:-1]
        ]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(list(self.schema)[:-1]))

    def _table(self, rows: pa.RecordBatch | Int64s, offsets: Int64s, ids: pa.Array) -> pa.Table:
        found = ids
        counts = np.diff(offsets)
        if self._arrays:
            found = pa.ListArray.from_arrays(pa.array(offsets - offsets[0], pa.int32()), ids)
        if isinstance(rows, np.ndarray):
            events: list[pa.Array] = [pa.array(rows if self._arrays else np.repeat(rows, counts))]
        else:
            repeated = rows if self._arrays else rows.take(pa.array(np.repeat(np.arange(len(rows)), counts)))
            events = repeated.columns
        return pa.Table.from_arrays([*events, found], schema=self.schema)

    def _lines(self, rows: pa.RecordBatch | Int64s, offsets: Int64s, ids: pa.Array) -> list[str]:
        """Events as JSON, each encoded once, however many subscriptions it matched."""
        if isinstance(rows, np.ndarray):
            opened = [f'{{"event": {number}' for number in rows.tolist()]
        else:
            opened = [text[:-1] for text in json_rows(rows)]
        encoded = ids.dictionary_encode()
        names = pa.array([json.dumps(id, ensure_ascii=False) for id in encoded.dictionary.to_pylist()], pa.string())
        lines: list[str] = pc.binary_join_element_wise(
            pa.array(opened, pa.string()).take(pa.array(np.repeat(np.arange(len(opened)), np.diff(offsets)))),
            f', "{self.column}": ',
            names.take(encoded.indices),
            "}",
            "",
        ).to_pylist()
        return lines


def _pieces(offsets: Int64s) -> Iterator[tuple[Int64s, Int64s]]:
    """Events with a match, a bounded number of matches at a time, with their offsets."""
    matched = np.flatnonzero(np.diff(offsets))
    start = 0
    while start < len(matched):
        limit = offsets[matched[start]] + _ROWS_AT_ONCE
        stop = max(start + 1, int(np.searchsorted(offsets[matched + 1], limit, side="right")))
        events = matched[start:stop]
        yield events, np.append(offsets[events], offsets[events[-1] + 1])
        start = stop


class JoinChangesFile:
    """Applies events to the joins of an index and writes the changes of their results.

    A change that its table cannot take is a row of its own, with the reason as its message.
    """

    def __init__(self, index: Index, writer: TableWriter) -> None:
        self._index = index
        self._writer = writer
        self.refused = 0

    def put(self, events: pa.RecordBatch, numbers: npt.NDArray[np.int64]) -> None:
        """Adds valid events, with their positions in the input."""
        changes = self._index.apply(events)
        for table in changes.to_arrow():
            if len(table):
                rows = table["row"].combine_chunks()
                self._write(
                    numbers[table["event"].to_numpy()],
                    table["subscription"].cast(pa.string()).combine_chunks(),
                    table["change"].cast(pa.string()).combine_chunks(),
                    pa.array(json_rows(pa.RecordBatch.from_struct_array(rows)), pa.string()),
                    pa.nulls(len(table), pa.string()),
                )
        if changes.refused:
            self.refused += len(changes.refused)
            none = pa.nulls(len(changes.refused), pa.string())
            positions = numbers[[violation.event for violation in changes.refused]]
            messages = pa.array([violation.message for violation in changes.refused], pa.string())
            self._write(positions, none, pa.array([REFUSED] * len(messages), pa.string()), none, messages)

    def _write(self, positions: npt.NDArray[np.int64], *columns: pa.Array) -> None:
        self._writer.write(pa.Table.from_arrays([pa.array(positions), *columns], schema=CHANGES))


@contextmanager
def join_changes(path: Path, index: Index) -> Iterator[JoinChangesFile]:
    """File for the changes of an index's joins, which appears under its name only when it is complete."""
    with table_writer(path, CHANGES) as writer:
        yield JoinChangesFile(index, writer)
