"""Operators made ready: what they load is loaded once a process, whoever calls them and however many indexes do."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from tamis.operators.definition import Operator

_LOCK = threading.Lock()
# An operator's own lock while it is being prepared, None once it is.
_STATES: WeakKeyDictionary[Operator, threading.Lock | None] = WeakKeyDictionary()


def prepare(operator: Operator) -> None:
    """Prepares the operator unless that is done; raises what its own preparation raises, which is then tried again."""
    if operator.prepare is None:
        return
    with _LOCK:
        own = _STATES.setdefault(operator, threading.Lock())
    if own is None:
        return
    with own:
        if _STATES[operator] is not None:
            operator.prepare()
            _STATES[operator] = None
