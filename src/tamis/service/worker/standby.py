"""What the pipeline process has ready before it may match: Spark, its workers, and the table of subscriptions."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from tamis.eventlog import NotAppended, open_log
from tamis.pipeline.workers.rehearsal import rehearse
from tamis.service.base.algorithms import Algorithms
from tamis.service.base.configuration import Settings
from tamis.service.base.offering import Offering
from tamis.service.store import Store, StoreAwayError
from tamis.service.worker.following import FollowingTable
from tamis.service.worker.lifeline import Lock
from tamis.service.worker.messages import Message
from tamis.service.worker.spark import start_session, warm
from tamis.service.worker.trying_out import try_out


class Standby:
    """All that takes seconds to have and no right to match: made once a process, kept while that right comes and goes.

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
        """Returns when whatever is slow only the first time has been done once. If it failed, the first batch will."""
        self._warmed.result()
        self._others.shutdown()

    def keep_up(self) -> None:
        """Now and then while nothing is matched: follows the store, and complains if Spark's driver is gone."""
        self.ask_spark()
        # A store that is away for a while is no reason to give up what there is.
        with suppress(StoreAwayError):
            self.table.keep_up()

    def ask_spark(self) -> None:
        """Returns when Spark's driver has answered; from any thread."""
        self.spark.sparkContext._jvm.System.nanoTime()  # type: ignore[union-attr]

    def log_answers(self) -> bool:
        """Whether the event log can be asked; takes seconds at most."""
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
