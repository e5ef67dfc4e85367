"""Which batches were seen already, in bounded memory."""

from __future__ import annotations

from typing import Final

from tamis.broker.store import BrokerStore

WINDOW: Final = 1_024


class Seen:
    """For each origin the highest number seen, and which of the `WINDOW` below it were seen.

    Along one path numbers only grow, so that the highest would do; the window is for batches that come late because
    the path was changed meanwhile. What is below the window is taken for seen. An origin that began anew, by its
    epoch, is another origin, and the old one is forgotten.
    """

    def __init__(self, store: BrokerStore) -> None:
        self._store = store
        self._origins = {origin: (epoch, highest, int(below, 16)) for origin, epoch, highest, below in store.seen()}

    def take(self, origin: str, epoch: str, number: int) -> bool:
        """Notes a batch; False if it was seen before."""
        known, highest, below = self._origins.get(origin, (epoch, 0, 0))
        if known != epoch:
            highest, below = 0, 0
        if number > highest:
            # Bit d - 1 is the number that is d below the highest.
            distance = number - highest
            below = ((below << 1 | (highest > 0)) << (distance - 1)) & ((1 << WINDOW) - 1) if distance <= WINDOW else 0
            highest = number
        else:
            distance = highest - number
            if distance == 0 or distance > WINDOW or below >> (distance - 1) & 1:
                return False
            below |= 1 << (distance - 1)
        self._origins[origin] = (epoch, highest, below)
        self._store.put_seen(origin, epoch, highest, f"{below:x}")
        return True

    def __len__(self) -> int:
        return len(self._origins)
