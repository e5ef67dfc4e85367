"""Payload directory and repository of CN* nodes: LRU caches in flat arrays, and the links a payload has gone over."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.compiled import bare_kernel, inlined_kernel

NOWHERE = -1
NEWEST, OLDEST, USED = range(3)
ENTRY = np.dtype([("key", "i8"), ("newer", "i4"), ("older", "i4")])
LINKS_A_WORD = 64
_SCATTERED = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class Recent(NamedTuple):
    """LRU caches, one a node, each of a fixed number of keys.

    `entries[node, slot]` for slots below `ends[node, USED]` are a chain from the newest to the oldest. `table[node]` is
    a hash table with linear probing of slots + 1, 0 where it is free, a power of two long and at most half full.
    """

    entries: np.recarray[Any, Any]
    table: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]


class Store(NamedTuple):
    """Payload directory and repository of many nodes (Chandramouli & Yang 2008, §5): soft state, capped.

    The directory remembers for a payload over which links it has gone, a bit a link: `gone[node, slot, word]` for the
    slots of `directory`. The repository has payloads; where their contents are is not its business.
    """

    directory: Recent
    gone: npt.NDArray[np.uint64]
    repository: Recent


@inlined_kernel
def _home(recent: Any, key: int) -> int:
    mixed = (np.uint64(key) * _SCATTERED) >> _HALF
    return np.int64(mixed) & (recent.table.shape[1] - 1)


@inlined_kernel
def _chain(recent: Any, node: int, slot: int) -> None:
    """Makes an unchained slot the newest of the LRU chain."""
    newest = recent.ends[node, NEWEST]
    recent.entries[node, slot].newer = NOWHERE
    recent.entries[node, slot].older = newest
    if newest == NOWHERE:
        recent.ends[node, OLDEST] = slot
    else:
        recent.entries[node, newest].newer = slot
    recent.ends[node, NEWEST] = slot


@inlined_kernel
def _chain_last(recent: Any, node: int, slot: int) -> None:
    """Makes an unchained slot the oldest of the LRU chain: the first to be evicted."""
    oldest = recent.ends[node, OLDEST]
    recent.entries[node, slot].newer = oldest
    recent.entries[node, slot].older = NOWHERE
    if oldest == NOWHERE:
        recent.ends[node, NEWEST] = slot
    else:
        recent.entries[node, oldest].older = slot
    recent.ends[node, OLDEST] = slot


@inlined_kernel
def _unchain(recent: Any, node: int, slot: int) -> None:
    newer, older = recent.entries[node, slot].newer, recent.entries[node, slot].older
    if newer == NOWHERE:
        recent.ends[node, NEWEST] = older
    else:
        recent.entries[node, newer].older = older
    if older == NOWHERE:
        recent.ends[node, OLDEST] = newer
    else:
        recent.entries[node, older].newer = newer


@bare_kernel
def found(recent: Any, node: int, key: int) -> int:
    """Slot of a key, or NOWHERE; leaves the LRU order as it is."""
    mask = recent.table.shape[1] - 1
    place = _home(recent, key)
    while recent.table[node, place] != 0:
        slot = recent.table[node, place] - 1
        if recent.entries[node, slot].key == key:
            return slot
        place = (place + 1) & mask
    return NOWHERE


@bare_kernel
def used(recent: Any, node: int, key: int) -> int:
    """Slot of a key, made the newest, or NOWHERE."""
    slot = found(recent, node, key)
    if slot != NOWHERE and recent.ends[node, NEWEST] != slot:
        _unchain(recent, node, slot)
        _chain(recent, node, slot)
    return slot


@bare_kernel
def admitted(recent: Any, node: int, key: int, newest: bool) -> int:
    """Slot for a new key, evicting the oldest if all are used; NOWHERE if there are no slots.

    It is the newest then, or else the oldest: the next to make room.
    """
    capacity = recent.entries.shape[1]
    if capacity == 0:
        return NOWHERE
    slot = recent.ends[node, USED]
    if slot < capacity:
        recent.ends[node, USED] = slot + 1
    else:
        slot = recent.ends[node, OLDEST]
        _erase(recent, node, recent.entries[node, slot].key)
        _unchain(recent, node, slot)
    recent.entries[node, slot].key = key
    if newest:
        _chain(recent, node, slot)
    else:
        _chain_last(recent, node, slot)
    mask = recent.table.shape[1] - 1
    place = _home(recent, key)
    while recent.table[node, place] != 0:
        place = (place + 1) & mask
    recent.table[node, place] = slot + 1
    return slot


@bare_kernel
def _erase(recent: Any, node: int, key: int) -> None:
    """Deletes a key from the hash table and moves the keys behind it up, so that no search ends too soon."""
    mask = recent.table.shape[1] - 1
    place = _home(recent, key)
    while recent.entries[node, recent.table[node, place] - 1].key != key:
        place = (place + 1) & mask
    after = (place + 1) & mask
    while recent.table[node, after] != 0:
        home = _home(recent, recent.entries[node, recent.table[node, after] - 1].key)
        if (after - home) & mask >= (after - place) & mask:
            recent.table[node, place] = recent.table[node, after]
            place = after
        after = (after + 1) & mask
    recent.table[node, place] = 0


@bare_kernel
def arrived(store: Any, node: int, payload: int, with_content: bool, wanted: bool) -> bool:
    """QUERY of Algorithm 1: True if the repository has the payload, after it came with its content or by name.

    The directory has an entry from now on, without links if it is new, or has been forgotten in between. In the
    repository only what the node's own subscribers want counts as used: what merely passes by is kept where there is
    room, and is the first to go.
    """
    slot = used(store.directory, node, payload)
    if slot == NOWHERE:
        slot = admitted(store.directory, node, payload, True)
        if slot != NOWHERE:
            store.gone[node, slot, :] = 0
    there = used(store.repository, node, payload) if wanted else found(store.repository, node, payload)
    if there != NOWHERE:
        return True
    return with_content and admitted(store.repository, node, payload, wanted) != NOWHERE


@bare_kernel
def supplied(store: Any, node: int, payload: int) -> bool:
    """Puts a payload that was asked for into the repository; returns True if the repository has it now."""
    return (
        used(store.repository, node, payload) != NOWHERE or admitted(store.repository, node, payload, True) != NOWHERE
    )


@bare_kernel
def has_gone(store: Any, node: int, payload: int, link: int) -> bool:
    """True if a payload has gone over a link, as far as the directory remembers."""
    slot = found(store.directory, node, payload)
    if slot == NOWHERE:
        return False
    word = store.gone[node, slot, link // LINKS_A_WORD]
    return (word >> np.uint64(link % LINKS_A_WORD)) & np.uint64(1) != np.uint64(0)


@bare_kernel
def acknowledged(store: Any, node: int, payload: int, link: int) -> None:
    """Records that the other end of a link, a CN* node, has a payload (App. H); forgotten entries stay forgotten."""
    slot = found(store.directory, node, payload)
    if slot != NOWHERE:
        store.gone[node, slot, link // LINKS_A_WORD] |= np.uint64(1) << np.uint64(link % LINKS_A_WORD)


# Allocation of directories and repositories.

DIRECTORY = 16_384
"""Entries: 512 kB of 32 bytes, an identifier and a bitmap (§6.2)."""
REPOSITORY = 400


def store_of(nodes: int, links: int, directory: int = DIRECTORY, repository: int = REPOSITORY) -> Store:
    """Empty directories and repositories of a given capacity, for nodes of at most `links` links.

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
