"""What the pipeline process holds while it matches."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tamis.errors import PipelineError
from tamis.service.store import StoreLock
from tamis.service.worker.backtests import BacktestRunner
from tamis.service.worker.faring import Fared, noticed
from tamis.service.worker.joining import joining_of
from tamis.service.worker.matching import Matching
from tamis.service.worker.messages import Followed, Operators, Turn
from tamis.service.worker.standby import Standby
from tamis.service.worker.suspending import Fairness

_FARING_SECONDS: Final = 2.0  # between two looks at how operators fare, which goes over all that is known of them
_STOP_SECONDS: Final = 20.0


class LockLostError(PipelineError):
    """The right to match is gone with the connection to the store; another service may have it by now."""


class Running:
    """The query and the backtests, on what the standby has ready and under the store's lock: up when it is made.

    `running` is said when the next event is matched as fast as any: whatever a first one would wait for is done.
    """

    def __init__(self, standby: Standby, sole: StoreLock) -> None:
        self._standby, self._sole = standby, sole
        self._table, self._store, self._say = standby.table, standby.store, standby.say
        self._fared: dict[str, Fared] = {}
        self._heard = 0.0
        self._backtests: BacktestRunner | None = None
        self._say(Turn("building"))
        self._joining = joining_of(standby.settings, self._store, self._say)
        self._fairness = Fairness(self._store, standby.state / "desk", self._say, standby.settings.limits.owner_seconds)
        self._matching = Matching(
            standby.spark,
            standby.log,
            self._store,
            self._table,
            standby.state / "checkpoint",
            self._say,
            joining=self._joining,
            fairness=self._fairness,
        )
        try:
            standby.warmed()
            self._backtests = BacktestRunner(standby.spark, standby.log, self._store, offering=standby.offering)
            self._say(Turn("running", head=self._store.notifications.head()))
        except BaseException:
            self.stop()
            raise
        self._say(Followed(self._table.applied))

    def look_after(self) -> None:
        """Now and then: complains if something has ended, and applies changes that no batch has asked for yet."""
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
        """For how many seconds the micro-batch under way has been running; 0 between batches. From any thread."""
        return self._matching.busy()

    def stop(self) -> None:
        """Ends the query and the backtests, and leaves Spark as it is; PipelineError if a batch will not end."""
        if self._backtests is not None:
            self._backtests.stop()
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
