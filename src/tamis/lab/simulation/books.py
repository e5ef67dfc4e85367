"""What is added up, and the room that kernels need for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.lab.networks.regions import Integers

BYTES, HOPS, LINK_BYTES, DELIVERED, LATENCY, LAST_HOP, ASKS, FROM_HOME, IDLE, MESSAGES = range(10)
NAME_BYTES = 20
"""What a payload costs a CN* message beside its content: a hash of 16 bytes, and the address of the source."""
ACKNOWLEDGEMENT_BYTES = 16


class Books(NamedTuple):
    """Sums over messages, for kernels; and scratch for one message, by place in its tree and by payload.

    `totals`, by the names above: bytes and messages between nodes (`BYTES`, `HOPS`), bytes times links of the topology
    that they go over (`LINK_BYTES`), subscriptions that got a message and the hops that it took to each (`DELIVERED`,
    `LATENCY`), bytes from nodes to their subscribers (`LAST_HOP`), payloads asked for (`ASKS`), messages that the home
    sent on (`FROM_HOME`), and nodes that a message came to without a subscriber there (`IDLE`). `stress[n]` are bytes
    that node n sent.
    """

    totals: Integers
    stress: Integers
    arrival: Integers
    content: npt.NDArray[np.bool_]
    source: Integers


def books_for(nodes: int, payloads: int) -> Books:
    """Empty books for trees of so many nodes and messages of at most so many payloads."""
    payloads = max(1, payloads)
    return Books(
        np.zeros(10, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64),
        np.zeros((nodes, payloads), np.bool_), np.zeros((nodes, payloads), np.int64),
    )  # fmt: skip
