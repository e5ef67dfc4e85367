"""Main program of the pipeline process: prepares Spark, matches while it has the right to, and stops with its input."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from tamis.errors import PipelineError, TamisError
from tamis.eventlog import NotAppended, open_log
from tamis.pipeline.workers.rehearsal import rehearse
from tamis.service.base.configuration import Settings
from tamis.service.base.offering import Algorithms, Offering
from tamis.service.store import Store, StoreAwayError, StoreLock
from tamis.service.worker.backtests import BacktestRunner
from tamis.service.worker.following import FollowingTable
from tamis.service.worker.joining import joining_of
from tamis.service.worker.matching import Matching, try_out
from tamis.service.worker.merging import Merging
from tamis.service.worker.messages import Fared, Followed, Message, Operators, Turn, noticed, written
from tamis.service.worker.spark import start_session, warm
from tamis.service.worker.suspending import Fairness
from tamis.service.worker.turns import Lock, end_group, watch
from tamis.spark_cause import in_one_line, is_spark_error

_GRACE: Final = 8.0
_SHOWN: Final = 2_000


class Mouth:
    """Output of messages to the service: the original standard output of the process. Any thread may write.

    Standard output itself is redirected to standard error, for Java and libraries write to it.
    """

    def __init__(self) -> None:
        self._file = os.dup(1)
        self._lock = threading.Lock()
        os.dup2(2, 1)

    def say(self, message: Message) -> None:
        line = written(message)
        with self._lock:
            while line:
                line = line[os.write(self._file, line) :]


def main() -> int:
    """Runs until standard input ends. If something fails before, the whole process group is killed at once."""
    mouth, stopped = Mouth(), threading.Event()
    settings = Settings.from_json(_first_line(0))
    watch(0, stopped.set, _GRACE)
    mouth.say(Turn("starting"))
    try:
        _run(settings, mouth, stopped)
    except Exception as error:  # noqa: BLE001 - whatever it is, the supervisor is told, and starts anew
        if not stopped.is_set():
            traceback.print_exc()
            sys.stderr.flush()
            mouth.say(Turn("failed", error=_shown(error)))
        # Nothing is put in order here: a kill may come at any moment, so every state on disk is one to start from.
        end_group()
    mouth.say(Turn("stopped"))
    return 0


def _run(settings: Settings, mouth: Mouth, stopped: threading.Event) -> None:
    lock = Lock(settings.state.absolute())
    if not lock.try_to_take():
        mouth.say(Turn("waiting"))
    if not lock.take(stopped):
        return
    # What is imported here takes seconds, and is of no use to a process that waits for its folder.
    from tamis.service.worker.turns import take_turns

    take_turns(settings, lock, mouth.say, stopped)


def _first_line(file: int) -> str:
    """First line of the input, read byte by byte: the rest is for another reader."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(file, 1)
        if not byte:
            raise TamisError("the pipeline process is started by the service, which tells it its settings")
        line += byte
    return line.decode()


def _shown(error: Exception) -> str:
    told = in_one_line(error)
    own = isinstance(error, TamisError) or is_spark_error(error)
    return (told if own else f"{type(error).__name__}: {told}")[:_SHOWN]


# Warm standby: Spark, its workers, and the subscription table, ready before the process may match.


class Standby:
    """Warm standby: everything that takes seconds to start and needs no right to match, started once a process and kept
    across failovers.

    It belongs to the state folder's lock, under which Spark's files and the table are. `warmed` waits for the last of
    it; where the process is the one to match already, the query may be started meanwhile.
    """

    def __init__(self, settings: Settings, lock: Lock, store: Store, say: Callable[[Message], None]) -> None:
        self.settings, self.store, self.say = settings, store, say
        self.state = settings.state.absolute()
        self.log = open_log(settings.log)
        self.offering = Offering.named(settings.operators)
        self._others = ThreadPoolExecutor(3, "starting")
        # Each of these takes seconds: a large table, Spark, its workers, what they do for the first time.
        rehearsing = self._others.submit(rehearse)
        algorithms = Algorithms.of(settings)
        table = self._others.submit(FollowingTable, self.state / "table", store, say, self.offering, algorithms)
        self.spark = start_session(settings)
        lock.note_jvm(self.spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]
        warming = self._others.submit(warm, self.spark)
        self.table = table.result()
        self._warmed = self._others.submit(self._try_out, warming, rehearsing)

    def warmed(self) -> None:
        """Returns when everything that is slow the first time has been done once. If that failed, the first batch will
        fail too.
        """
        self._warmed.result()
        self._others.shutdown()

    def keep_up(self) -> None:
        """Follows the store while not matching, and raises an error if Spark's driver is gone. Called periodically."""
        self.ask_spark()
        # A store that is away for a while is no reason to give up what there is.
        with suppress(StoreAwayError):
            self.table.keep_up()

    def ask_spark(self) -> None:
        """Returns when Spark's driver has answered; from any thread."""
        self.spark.sparkContext._jvm.System.nanoTime()  # type: ignore[union-attr]

    def log_answers(self) -> bool:
        """True if the event log answers; takes seconds at most."""
        try:
            self.log.size()
        except NotAppended:
            return False
        return True

    def stop(self) -> None:
        self.spark.stop()

    def _try_out(self, *before: Future[None]) -> None:
        for each in before:
            if (error := each.exception()) is not None:
                traceback.print_exception(error)
        try_out(self.spark, self.log, self.table.newest())


# Active state: what the pipeline process runs while it matches.

_FARING_SECONDS: Final = 2.0  # between two looks at how operators fare, which goes over all that is known of them
_STOP_SECONDS: Final = 20.0


class LockLostError(PipelineError):
    """Loss of the right to match, with the connection to the store; another service may have it by now."""


class ActivePipeline:
    """Active query and backtests, on top of the standby and under the store's lock; started when constructed.

    `running` is said when the next event is matched as fast as any: whatever a first one would wait for is done.
    """

    def __init__(self, standby: Standby, sole: StoreLock) -> None:
        self._standby, self._sole = standby, sole
        self._table, self._store, self._say = standby.table, standby.store, standby.say
        self._fared: dict[str, Fared] = {}
        self._heard = 0.0
        self._backtests: BacktestRunner | None = None
        self._say(Turn("building"))
        self._fairness = Fairness(self._store, standby.state / "desk", self._say, standby.settings.limits.owner_seconds)
        self._joining = joining_of(standby.settings, self._store, self._say, self._fairness)
        self._merging = Merging(self._store)
        self._matching = Matching(
            standby.spark,
            standby.log,
            self._store,
            self._table,
            standby.state / "checkpoint",
            self._say,
            joining=self._joining,
            fairness=self._fairness,
            then=self._merging.wake,
        )
        try:
            standby.warmed()
            # What is loaded by now stays; the collector, which holds batches up while it looks, need not see it.
            gc.collect()
            gc.freeze()
            self._backtests = BacktestRunner(standby.spark, standby.log, self._store, offering=standby.offering)
            self._say(Turn("running", head=self._store.notifications.head()))
        except BaseException:
            self.stop()
            raise
        self._say(Followed(self._table.applied))

    def look_after(self) -> None:
        """Raises an error if something has ended, and applies pending changes. Called periodically."""
        if not self._sole.hold():
            raise LockLostError("the connection to the store broke, and with it the right to be the one that matches")
        self._matching.check()
        if self._backtests is not None:
            self._backtests.check()
        self._fairness.look()
        before = self._table.applied
        self._table.catch_up()
        self._joining.settle()
        if self._table.applied != before:
            self._say(Followed(self._table.applied))
        if self._standby.offering and time.monotonic() - self._heard > _FARING_SECONDS:
            self._heard = time.monotonic()
            self._tell_operators()

    def busy(self) -> float:
        """Seconds for which the micro-batch under way has been running; 0 between batches."""
        return self._matching.busy()

    def stop(self) -> None:
        """Ends the query and the backtests, and keeps Spark; PipelineError if a batch will not end."""
        if self._backtests is not None:
            self._backtests.stop()
        self._merging.stop()
        with_time = ThreadPoolExecutor(1, "stopping")
        stopping = with_time.submit(self._matching.stop)
        with_time.shutdown(wait=False)
        try:
            stopping.result(_STOP_SECONDS)
        except TimeoutError:
            raise PipelineError(f"the query did not end within {_STOP_SECONDS:g} seconds") from None

    def _tell_operators(self) -> None:
        fared = noticed(self._table.fared(), self._fared)
        if {name: one.tally for name, one in fared.items()} != {n: one.tally for n, one in self._fared.items()}:
            self._fared = fared
            self._say(Operators({name: one.to_dict() for name, one in fared.items()}))
