"""Operators made ready: what they load is loaded once a process, whoever calls them and however many indexes do."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary

from tamis.operators.definition import Operator

LONGEST: Final = 300.0
"""Seconds that are waited for an operator to be ready, where its calls have a limit too."""

_LOCK = threading.Lock()
_ATTEMPTS: WeakKeyDictionary[Operator, _Attempt] = WeakKeyDictionary()


class _Attempt:
    """One run of an operator's own preparation, which any number of threads may wait for.

    `late`: somebody has waited in vain, and nobody does so again; but when it ends after all, the operator is ready.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self.late = False
        self._work = work

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            self.error = error
        self.ended.set()


def prepare(operator: Operator) -> None:
    """Prepares the operator unless that is done; raises what its own preparation raises, which is then tried again.

    TimeoutError: it takes longer than `LONGEST`. An operator whose calls may take any time may take any time here too.
    """
    if operator.prepare is None:
        return
    with _LOCK:
        attempt = _ATTEMPTS.get(operator)
        if begins := attempt is None:
            attempt = _ATTEMPTS[operator] = _Attempt(operator.prepare)
    if begins and operator.time_limit is None:
        attempt.run()
    elif begins:
        threading.Thread(target=attempt.run, name="tamis-preparing", daemon=True).start()
    if not attempt.ended.wait(_patience(operator, attempt)):
        attempt.late = True
        raise TimeoutError(f"it was not ready after {LONGEST:g} seconds")
    if attempt.error is not None:
        with _LOCK:
            if _ATTEMPTS.get(operator) is attempt:
                del _ATTEMPTS[operator]
        raise attempt.error


def _patience(operator: Operator, attempt: _Attempt) -> float | None:
    if operator.time_limit is None:
        return None
    return 0.0 if attempt.late else LONGEST


def _begin_anew() -> None:
    """In a process that was forked: what another thread was about to prepare, nobody here goes on with."""
    global _LOCK
    # The old one may be held by a thread that is not here.
    _LOCK = threading.Lock()
    for operator in [operator for operator, attempt in _ATTEMPTS.items() if not attempt.ended.is_set()]:
        del _ATTEMPTS[operator]


os.register_at_fork(after_in_child=_begin_anew)
