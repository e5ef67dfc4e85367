"""Operators on Spark: sent to the workers, with the costs and selectivities that workers learn collected in a ledger.

The ledger adds up the workers' reports on the driver, for people and for the workers of later batches.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from pickle import PicklingError, loads
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np
import pyarrow as pa

from tamis.durable import replace_durably
from tamis.engine import Index
from tamis.errors import IndexFileError, PipelineError
from tamis.operators import Operator
from tamis.operators.health import OperatorStatistics, OperatorTable, Tally
from tamis.operators.learning import COUNTS, EVALUATED, HALF_LIFE, HELD, SPENT, TIMED, Lessons, Seen, faded, united
from tamis.operators.matcher import resolved_all
from tamis.operators.registry import installed, is_offered
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark import Accumulator, SparkContext


# Observations of operators as a file beside the index: written by the driver, read by workers.

LEARNED = "learned.arrow"

_COUNTED = ("evaluated", "held", "timed", "milliseconds")
_COLUMNS = pa.schema(
    [
        pa.field("operator", pa.string()),
        pa.field("predicate", pa.uint64()),
        *(pa.field(name, pa.float64()) for name in _COUNTED),
    ]
)


def write_learned(path: Path, seen: Mapping[str, Seen]) -> None:
    """Writes or overwrites the file; concurrent readers see the old content or the new."""
    names = pa.array(list(seen), pa.string()).take(
        pa.array(np.repeat(np.arange(len(seen)), [*map(len, seen.values())]))
    )
    some = list(seen.values())
    keys = np.concatenate([np.zeros(0, np.uint64), *(one.keys for one in some)])
    counts = np.concatenate([np.zeros((COUNTS, 0)), *(one.counts for one in some)], axis=1)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, _COLUMNS) as writer:
        writer.write_table(pa.Table.from_arrays([names, pa.array(keys), *map(pa.array, counts)], schema=_COLUMNS))
    replace_durably(path, sink.getvalue().to_pybytes())


def read_learned(path: Path) -> dict[str, Seen]:
    """Reads the observations by operator; empty without a file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        rows = pa.ipc.open_file(content).read_all().cast(_COLUMNS)
    except (pa.ArrowInvalid, ValueError) as error:
        raise IndexFileError(f"{path} is damaged: {error}; delete it, what it tells is learned again") from error
    names = np.asarray(rows["operator"])
    keys = np.asarray(rows["predicate"])
    counts = np.stack([np.asarray(rows[name]) for name in _COUNTED])
    return {name: Seen.of(keys[names == name], counts[:, names == name]) for name in np.unique(names).tolist()}


def stamp(path: str) -> tuple[int, int] | None:
    """Stamp that differs for another content; None without a file."""
    try:
        about = Path(path).stat()
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_mtime_ns


_LOG = logging.getLogger(__name__)

# Growth and decay after which the file is written, since workers replan when it changes, which costs: when there is
# twice as much to know, and once much is known, when half of that has faded.
_FIRST = 64

# Ledgers by name; kept by their owners.
_LEDGERS: WeakValueDictionary[str, Ledger] = WeakValueDictionary()
# Ledgers of folders, whose readers may come and go; they stay as long as the process does.
_OF_FOLDERS: dict[str, Ledger] = {}


class Ledger:
    """Ledger of operators: observed costs and selectivities, which fade, and tallies, of all workers that report to
    `name`.

    `path` is the file that the workers start from. Indexes of this process that `follow` get every lesson too. Reports
    come in on Spark's threads; any thread may ask.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        self._lock = threading.Lock()
        self._seen = read_learned(path)
        self._tallies: dict[str, Tally] = {}
        self._events = self._written = 0
        self._followers: WeakSet[Index] = WeakSet()
        self._unwritable = False
        _LEDGERS[name] = self

    @classmethod
    def at(cls, path: Path) -> Ledger:
        """Ledger of a folder's file, always one and the same."""
        name = str(path)
        return _OF_FOLDERS.setdefault(name, _LEDGERS.get(name) or cls(name, path))

    def follow(self, index: Index) -> None:
        """Passes what workers learn to an index from now on, and first what is known so far."""
        calling = index.calling
        if calling is None:
            return
        with self._lock:
            if index in self._followers:
                return
            if self._seen:
                calling.start_from(self._seen)
            else:
                self._seen = dict(calling.known())
            calling.take(Lessons(0, {}, self._tallies))
            self._followers.add(index)

    def take(self, lessons: Lessons) -> None:
        """Adds a report of what workers learned since their last one."""
        with self._lock:
            left = faded(lessons.events)
            self._seen = united({name: seen.faded(left) for name, seen in self._seen.items()}, lessons.seen)
            self._tallies = united(self._tallies, lessons.tallies)
            self._events += lessons.events
            for index in self._followers:
                if index.calling is not None:
                    index.calling.take(lessons)
            if self._events - self._written >= min(HALF_LIFE, max(_FIRST, self._written)):
                self._written = self._events
                self._write()

    def write(self) -> None:
        """Writes the file for the workers."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        try:
            write_learned(self.path, self._seen)
        except OSError as error:
            if not self._unwritable:
                _LOG.warning("what was learned of operators cannot be kept in %s: %s", self.path, error)
            self._unwritable = True

    def statistics(self, operators: Iterable[Operator], schema: Schema) -> OperatorTable:
        """Statistics of the operators in the workers; `predicates` are those that were evaluated."""
        with self._lock:
            return OperatorTable(
                [
                    self._about(resolved.operator, str(resolved.signature))
                    for resolved in resolved_all(operators, schema).values()
                ]
            )

    def _about(self, operator: Operator, signature: str) -> OperatorStatistics:
        seen = self._seen.get(operator.name)
        counts = [0.0] * 4 if seen is None else seen.counts.sum(axis=1).tolist()
        timed = counts[SPENT] / counts[TIMED] if counts[TIMED] >= 1 else None
        observed = counts[EVALUATED] >= 1
        held = counts[HELD] / counts[EVALUATED] if observed else None
        return OperatorStatistics(
            operator.name,
            operator.version,
            signature,
            operator.about,
            timed if operator.cost is None else operator.cost,
            operator.cost is None,
            held if observed else operator.selectivity,
            observed,
            0 if seen is None else len(seen),
            False,
            self._tallies.get(operator.name, Tally()) + Tally(),
        )


def take_reports(reports: dict[str, Lessons]) -> None:
    """Adds reports to their ledgers by name; those of a ledger that is gone are dropped."""
    for name, lessons in reports.items():
        ledger = _LEDGERS.get(name)
        if ledger is not None:
            ledger.take(lessons)


# Reports from the workers to the ledgers: an accumulator of Spark's, one a session.

_REPORTS: WeakKeyDictionary[SparkContext, Report] = WeakKeyDictionary()


class Report:
    """Reports of tasks at their end; Spark brings them to the driver before the job is over.

    A task that Spark runs twice reports twice: its operators were called twice.
    """

    def __init__(self, context: SparkContext) -> None:
        from pyspark.accumulators import AccumulatorParam

        class ByLedger(AccumulatorParam[dict[str, Any]]):
            """Adds up in a worker; on the driver everything is passed on, and nothing stays."""

            def __init__(self, on_driver: bool) -> None:
                self._on_driver = on_driver

            def __reduce__(self) -> tuple[Any, ...]:
                return type(self), (False,)

            def zero(self, value: dict[str, Any]) -> dict[str, Any]:
                return {}

            def addInPlace(self, value1: dict[str, Any], value2: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
                if self._on_driver:
                    take_reports(value2)
                    return {}
                return united(value1, value2)

        self._told: Accumulator[Any] = context.accumulator({}, ByLedger(True))

    @classmethod
    def of(cls, context: SparkContext) -> Report:
        if context not in _REPORTS:
            _REPORTS[context] = cls(context)
        return _REPORTS[context]

    def tell(self, ledger: str, lessons: Lessons) -> None:
        """Sends a report. Called in a worker."""
        if lessons:
            self._told.add({ledger: lessons})


# Operators that a snapshot's filters may call: sent with it to the workers; small, nothing of the subscriptions.

# Each is packed once, so that workers recognise it: pickling twice may give different bytes.
_PACKED: WeakKeyDictionary[Operator, Packed] = WeakKeyDictionary()
_UNPACKED: OrderedDict[str, Operator] = OrderedDict()
_KEPT = 256


@dataclass(frozen=True, slots=True)
class Packed:
    """Operator as sent to workers: by the name under which an installed package offers it, or pickled.

    `digest` tells operators apart: with the same one, a process has one object, so what it loads is loaded once.
    """

    name: str
    digest: str
    content: bytes = b""

    @classmethod
    def of(cls, operator: Operator) -> Packed:
        packed = _PACKED.get(operator)
        if packed is None:
            packed = _PACKED[operator] = _packed(operator)
        return packed

    def operator(self) -> Operator:
        """Operator in this process: one and the same object whenever this is asked."""
        known = _UNPACKED.pop(self.digest, None)
        _UNPACKED[self.digest] = operator = self._unpacked() if known is None else known
        while len(_UNPACKED) > _KEPT:
            _UNPACKED.popitem(last=False)
        return operator

    def _unpacked(self) -> Operator:
        if not self.content:
            return installed(self.name)
        try:
            operator = loads(self.content)
        except (ImportError, AttributeError) as error:
            raise PipelineError(
                f"the operator {self.name} cannot be loaded in a worker: {error}; what it needs must be installed there"
            ) from error
        assert isinstance(operator, Operator)
        return operator


def _packed(operator: Operator) -> Packed:
    from pyspark.cloudpickle import dumps

    if is_offered(operator):
        return Packed(operator.name, f"{operator.name} {operator.version}")
    try:
        content: bytes = dumps(operator)  # type: ignore[no-untyped-call]
    except (PicklingError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise PipelineError(
            f"the operator {operator.name} cannot be sent to workers: {error}; load what cannot be sent in prepare="
        ) from error
    return Packed(operator.name, blake2b(content, digest_size=16).hexdigest(), content)


@dataclass(frozen=True, slots=True)
class Crew:
    """Operators of an index, the file of their observations in all processes (perhaps not written yet), and their
    ledger.
    """

    operators: tuple[Packed, ...]
    learned: str
    ledger: str

    @classmethod
    def of(cls, operators: Iterable[Operator], learned: str, ledger: str) -> Crew:
        return cls(tuple(map(Packed.of, operators)), learned, ledger)

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal iff the operators are."""
        return tuple(packed.digest for packed in self.operators)

    def unpacked(self) -> list[Operator]:
        """Operators themselves. Called in a worker."""
        return [packed.operator() for packed in self.operators]
