"""What workers report of operators, added up on the driver: for people, and for the workers of later batches."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from pathlib import Path
from weakref import WeakSet, WeakValueDictionary

from tamis.engine import Index
from tamis.operators import Operator
from tamis.operators.calling_part import resolved_all
from tamis.operators.health import OperatorStatistics, OperatorTable, Tally
from tamis.operators.learning import EVALUATED, HALF_LIFE, HELD, SPENT, TIMED, Lessons, faded, united
from tamis.pipeline.calling.learned_file import read_learned, write_learned
from tamis.schema import Schema

_LOG = logging.getLogger(__name__)

# Workers plan anew when the file changes, which costs: it is written when there is twice as much to know, and once
# much is known, when half of that has faded.
_FIRST = 64

# By name; kept by whom they belong to.
_LEDGERS: WeakValueDictionary[str, Ledger] = WeakValueDictionary()
# Those of folders, whose readers may come and go, stay as long as the process does.
_OF_FOLDERS: dict[str, Ledger] = {}


class Ledger:
    """Observations of predicates, which fade, and tallies of operators, of all workers that told `name`.

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
        """The one of a folder's file, the same whenever it is asked for."""
        name = str(path)
        return _OF_FOLDERS.setdefault(name, _LEDGERS.get(name) or cls(name, path))

    def follow(self, index: Index) -> None:
        """From now on the index is told what workers learn, and beforehand what is known so far."""
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
        """What workers learned since they last told."""
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
        """Leaves what is known to the workers now."""
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
        """How the operators fared in the workers; `predicates` are those that were evaluated."""
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
    """Lessons by the name of their ledger; those of one that nobody has any more are dropped."""
    for name, lessons in reports.items():
        ledger = _LEDGERS.get(name)
        if ledger is not None:
            ledger.take(lessons)
