"""Messages as networks see them: whom they are for, how large they are, what they carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamis.lab.networks.regions import Integers, Regions

EVERYBODY = -1


@dataclass(frozen=True)
class Post:
    """Any number of messages in the order in which they are sent: all that a network reads of them.

    Message m is for all subscriptions in `regions[m]`, or for the one whose number is `address[m]`. It has `size[m]`
    bytes beside its payloads, which are `payload[first_payload[m]:first_payload[m + 1]]`: numbers that name their
    contents, of `payload_size` bytes each.
    """

    regions: Regions
    address: Integers
    size: Integers
    first_payload: Integers
    payload: Integers
    payload_size: int

    def __len__(self) -> int:
        return len(self.size)

    @property
    def whole_size(self) -> Integers:
        """Bytes with all payloads."""
        whole: Integers = self.size + self.payload_size * np.diff(self.first_payload)
        return whole
