"""The arrays of directories and repositories."""

from __future__ import annotations

import numpy as np

from tamis.routing.payloads.kernels import ENTRY, LINKS_A_WORD, NOWHERE, Recent, Store

DIRECTORY = 16_384
"""Entries: 512 kB of 32 bytes, an identifier and a bitmap (§6.2)."""
REPOSITORY = 400


def store_of(nodes: int, links: int, directory: int = DIRECTORY, repository: int = REPOSITORY) -> Store:
    """Empty directories and repositories of so many entries, for nodes of at most so many links.

    Memory is taken as slots come to be used, so that nodes that see few payloads cost little.
    """
    words = max(1, -(-links // LINKS_A_WORD))
    return Store(_recent(nodes, directory), np.zeros((nodes, directory, words), np.uint64), _recent(nodes, repository))


def _recent(nodes: int, capacity: int) -> Recent:
    if capacity < 0:
        raise ValueError("a directory or repository cannot have less than no entries")
    ends = np.zeros((nodes, 3), np.int32)
    ends[:, :2] = NOWHERE
    places = 1 << max(1, 2 * capacity - 1).bit_length()
    return Recent(np.zeros((nodes, capacity), ENTRY).view(np.recarray), np.zeros((nodes, places), np.int32), ends)
