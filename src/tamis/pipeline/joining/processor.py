"""Stateful processor of Spark (`transformWithState`) that keeps each cell's tables in state."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, LongType, StringType, StructType

from tamis.errors import PipelineError
from tamis.pipeline.joining.cell import Cell, Entry, Told
from tamis.pipeline.joining.cells import Cells
from tamis.pipeline.joining.packing import Lateness, from_blob, join_texts, to_blob
from tamis.pipeline.table.subscriptions import Snapshot
from tamis.pipeline.table.versions import Live
from tamis.pipeline.workers.inputs import micro_batch

if TYPE_CHECKING:
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

# Types, not DDL strings: the JVM would parse those in every task anew.
_NUMBER, _TEXT, _BLOB = LongType(), StringType(), BinaryType()
HEAD = StructType().add("last", _NUMBER).add("first", _NUMBER).add("token", _TEXT).add("about", _TEXT)
PLACE = StructType().add("number", _NUMBER)
ENTRY = StructType().add("token", _TEXT).add("events", _BLOB).add("known", _BLOB).add("clock", _NUMBER)
ENTRY = ENTRY.add("waiting", _BLOB).add("whole", _TEXT)
ANSWER = "batch LONG, changes BINARY, dead BINARY"

_ROWS_A_BLOB = 200_000


@dataclass(slots=True)
class _Open:
    """Cell in memory, and the entry that it is as of: its number, and the token that was written with it.

    `first` is the entry with which the log begins, as of when the cell was opened.
    """

    cell: Cell
    last: int
    token: str
    first: int = 1


# Cells in this worker's memory. A cell is used only if its token is that of an entry in the state, which was committed
# together with the state itself: a step that was not committed left a token that is nowhere.
_OPEN: OrderedDict[tuple[str, int], _Open] = OrderedDict()
_KEPT = 64


class TablesProcessor(StatefulProcessor):
    """Keeps a cell as a log of entries in a map state, with a value state for the log's beginning and end.

    To be handed to `transformWithState`. A worker that has the cell in memory reads no more than the head and writes
    one entry; another reads the entries it lacks. A log that is much longer than the tables is replaced by one entry.
    """

    def __init__(self, source: Snapshot | Live, cells: Cells, lateness: Lateness | None = None) -> None:
        self._source = source
        self._cells = cells
        self._lateness = lateness

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", HEAD)
        self._log = handle.getMapState("log", PLACE, ENTRY)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        packs, dead, clocks = [], [], []
        for row in rows:
            if row["clock"] is not None:
                clocks.append(int(row["clock"]))
            if row["events"] is not None:
                packs.append(bytes(row["events"]))
            if row["dead"] is not None:
                dead.append(from_blob(bytes(row["dead"])))
        stream, batch = micro_batch() or ("", 0)
        name = (stream, int(key[0]))
        snapshot = self._source if isinstance(self._source, Snapshot) else self._source.snapshot(stream, batch)
        (part,) = snapshot.parts
        held = self._opened(name, snapshot)
        held.cell.follow(join_texts(part))
        entry, told = held.cell.step(packs, max(clocks, default=None))
        self._write(held, entry)
        if stream:
            _OPEN[name] = held
            while len(_OPEN) > _KEPT:
                _OPEN.popitem(last=False)
        return _answers(batch, Told(told.changes, pa.concat_tables([*dead, told.dead])))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        return iter(())

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
        raise PipelineError("tables begin empty; send their rows as events")

    def close(self) -> None:
        """Nothing is held beyond a batch."""

    def _opened(self, name: tuple[str, int], snapshot: Snapshot) -> _Open:
        """Cell as of the head of the log; removed from `_OPEN`, for it is about to change."""
        held = _OPEN.pop(name, None)
        number = self._cells.numbers()[name[1]]
        new = _Open(Cell(self._cells, number, snapshot.schema, lateness=self._lateness), 0, "")
        head = self._head.get()
        if head is None:
            return new
        last, first, token, about = head
        if about != self._cells.about:
            raise PipelineError(
                f"the tables of this checkpoint are held in other cells ({about}) than now ({self._cells.about}); "
                "use the same parts and placements, or begin with a new checkpoint"
            )
        if held is None or not self._is_past(held, first, last, token):
            held = new
            held.last = first - 1
        for number in range(held.last + 1, last + 1):
            _, events, known, clock, waiting, whole = self._entry(number)
            held.cell.replay(Entry(_bytes(events), _bytes(known), clock, _bytes(waiting), whole))
        held.last, held.token, held.first = last, token, first
        return held

    def _is_past(self, held: _Open, first: int, last: int, token: str) -> bool:
        """True if a cell in memory is an earlier state of the log."""
        if held.last == last:
            return held.token == token
        return first <= held.last < last and self._entry(held.last)[0] == held.token

    def _entry(self, number: int) -> tuple[Any, ...]:
        entry = self._log.getValue((number,))
        if entry is None:
            raise PipelineError(f"the state has lost entry {number} of its log; begin with a new checkpoint")
        return entry

    def _write(self, held: _Open, entry: Entry) -> None:
        held.last, held.token = held.last + 1, uuid.uuid4().hex
        if held.cell.bloated:
            for number in range(held.first, held.last):
                self._log.removeKey((number,))
            entry, held.first = held.cell.whole(), held.last
        self._log.updateValue((held.last,), (held.token, *astuple(entry)))
        self._head.update((held.last, held.first, held.token, self._cells.about))


def _answers(batch: int, told: Told) -> Iterator[Row]:
    from pyspark.sql import Row

    answers = []
    for start in range(0, told.changes.num_rows, _ROWS_A_BLOB):
        piece = to_blob(told.changes.slice(start, _ROWS_A_BLOB))
        answers.append(Row(batch=batch, changes=piece, dead=None))
    if told.dead.num_rows:
        answers.append(Row(batch=batch, changes=None, dead=to_blob(told.dead)))
    return iter(answers)


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
