"""Merging of the match log's segments, beside the matching, by whoever has the right to match."""

from __future__ import annotations

import logging
import threading
from typing import Final

from tamis.errors import TamisError
from tamis.service.store import Store, warn

_LOG: Final = logging.getLogger(__name__)
_AGAIN: Final = 30.0  # seconds after a failure


class Merging:
    """A thread that merges small segments into larger ones whenever a batch has been recorded.

    Kernels release the interpreter's lock, so a batch under way is held up by little more than a core. What a crash
    left in the folder is removed first: nobody else writes segments now.
    """

    def __init__(self, store: Store) -> None:
        self._segments = store.notifications.segments
        self._segments.tidy()
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._woken.set()
        self._thread = threading.Thread(target=self._work, name="merging", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """A batch was recorded."""
        self._woken.set()

    def stop(self) -> None:
        """Ends with the merge under way; what is merged by then is named, or was never there."""
        self._stopped.set()
        self._woken.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stopped.is_set():
            self._woken.wait()
            self._woken.clear()
            try:
                while not self._stopped.is_set() and self._segments.merge():
                    pass
            except TamisError as error:
                # Nothing is lost: readers go on with the small ones.
                warn(_LOG, "merging segments of matches failed", error)
                self._stopped.wait(_AGAIN)
                self._woken.set()
