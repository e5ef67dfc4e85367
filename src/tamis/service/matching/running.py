"""What the pipeline process holds while it runs."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tamis.errors import PipelineError
from tamis.pipeline.workers.rehearsal import rehearse
from tamis.service.configuration import Settings
from tamis.service.log import open_log
from tamis.service.matching.backtests import BacktestRunner
from tamis.service.matching.faring import Fared, noticed
from tamis.service.matching.following import FollowingTable
from tamis.service.matching.joining import joining_of
from tamis.service.matching.lifeline import Lock
from tamis.service.matching.matching import Matching
from tamis.service.matching.messages import Followed, Message, Operators, Turn
from tamis.service.matching.spark import start_session, warm
from tamis.service.matching.trying_out import try_out
from tamis.service.offering import Offering
from tamis.service.store import Store, StoreLock

_FARING_SECONDS: Final = 2.0  # between two looks at how operators fare, which goes over all that is known of them


class Running:
    """Table, Spark, the query and the backtests, under the locks of state folder and store: up when it is made.

    `running` is said when the next event is matched as fast as any: whatever a first one would wait for is done.
    """

    def __init__(
        self, settings: Settings, lock: Lock, store: Store, sole: StoreLock, say: Callable[[Message], None]
    ) -> None:
        self._say = say
        self._store = store
        self._sole = sole
        say(Turn("building"))
        self._offering = Offering.named(settings.operators)
        self._fared: dict[str, Fared] = {}
        self._heard = 0.0
        log, state = open_log(settings.log), settings.state.absolute()
        # Each of these takes seconds: a large table, Spark, its workers, what they do for the first time.
        with ThreadPoolExecutor(3, "starting") as others:
            rehearsing = others.submit(rehearse)
            table = others.submit(FollowingTable, state / "table", self._store, say, self._offering)
            self._spark = start_session(settings)
            lock.note_jvm(self._spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]
            warming = others.submit(warm, self._spark)
            self._table = table.result()
            self._joining = joining_of(settings, self._store, say)
            self._matching = Matching(
                self._spark,
                log,
                self._store,
                self._table,
                state / "checkpoint",
                say,
                joining=self._joining,
            )
            for each in (warming, rehearsing):
                # If it matters, the first batch fails too, and says so.
                if (error := each.exception()) is not None:
                    traceback.print_exception(error)
            try_out(self._spark, log, self._table.newest())
        self._backtests = BacktestRunner(self._spark, log, self._store, offering=self._offering)
        say(Turn("running", head=self._store.notifications.head()))
        say(Followed(self._table.applied))

    def look_after(self) -> None:
        """Now and then: complains if something has ended, and applies changes that no batch has asked for yet."""
        if not self._sole.hold():
            raise PipelineError("the connection to the store broke, and with it the right to be the one that matches")
        self._matching.check()
        self._backtests.check()
        before = self._table.applied
        self._table.catch_up()
        self._joining.settle()
        if self._table.applied != before:
            self._say(Followed(self._table.applied))
        if self._offering and time.monotonic() - self._heard > _FARING_SECONDS:
            self._heard = time.monotonic()
            self._tell_operators()

    def ask_spark(self) -> None:
        """Returns when Spark's driver has answered; from any thread."""
        self._spark.sparkContext._jvm.System.nanoTime()  # type: ignore[union-attr]

    def busy(self) -> float:
        """For how many seconds the micro-batch under way has been running; 0 between batches. From any thread."""
        return self._matching.busy()

    def _tell_operators(self) -> None:
        fared = noticed(self._table.fared(), self._fared)
        if {name: one.tally for name, one in fared.items()} != {n: one.tally for n, one in self._fared.items()}:
            self._fared = fared
            self._say(Operators({name: one.to_dict() for name, one in fared.items()}))

    def stop(self) -> None:
        self._backtests.stop()
        self._matching.stop()
        self._spark.stop()
