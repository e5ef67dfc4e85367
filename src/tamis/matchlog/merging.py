"""Merging of neighbouring segments into one: keys by event are copied as words, and lists by subscription follow one
another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tamis.arrays import Int64s
from tamis.matchlog.packing import BLOCK
from tamis.matchlog.runs import Packer, Run, chained
from tamis.matchlog.segment import Content, Segment
from tamis.matchlog.texts import chained as chained_texts

_AT_ONCE = 1 << 21  # keys that are unpacked at a time


def merged(parts: Sequence[Segment]) -> Content:
    """Segments in the order of their events as one. Every page of them is verified on the way."""
    for part in parts:
        part.verify()
    bases = np.cumsum([0, *(part.events for part in parts)]).tolist()
    events, pairs = bases.pop(), sum(part.pairs for part in parts)
    width = max(part.width for part in parts)
    positions = np.concatenate([part.positions for part in parts])
    by_number = Packer(pairs, int(max(_greatest(part) for part in parts) + 1) * events)
    for keys in _by_number(parts, bases, events):
        by_number.add(keys)
    return Content(
        Run.of(positions),
        _by_event(parts, bases, width),
        by_number.run(),
        np.concatenate([part.times for part in parts]),
        chained_texts([part.texts for part in parts]),
        width,
        events,
        pairs,
        parts[0].first,
        parts[-1].last,
    )


def _by_event(parts: Sequence[Segment], bases: Sequence[int], width: int) -> Run:
    if all(part.width == width for part in parts):
        return chained([part.run("by_event") for part in parts], [base * width for base in bases])
    packer = Packer(sum(part.pairs for part in parts), sum(part.events for part in parts) * width)
    for part, base in zip(parts, bases, strict=True):
        run = part.run("by_event")
        for low in range(0, len(run.firsts), _AT_ONCE // BLOCK):
            keys = run.keys(low, min(low + _AT_ONCE // BLOCK, len(run.firsts)))
            ranks, numbers = np.divmod(keys, part.width)
            packer.add((ranks + base) * width + numbers)
    return packer.run()


def _by_number(parts: Sequence[Segment], bases: Sequence[int], events: int) -> Iterator[Int64s]:
    """Keys of the whole, a range of subscriptions at a time: of each the lists of the parts follow one another."""
    runs = [part.run("by_number") for part in parts]
    blocks = np.sort(np.concatenate([run.firsts // part.events for run, part in zip(runs, parts, strict=True)]))
    edges = (
        np.unique(np.append(blocks[:: _AT_ONCE // BLOCK], blocks[-1:] + 1)) if len(blocks) else np.empty(0, np.int64)
    )
    greatest = max(_greatest(part) for part in parts)
    edges = np.unique(np.concatenate([[0], edges[edges <= greatest], [greatest + 1]]))
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        some = []
        for run, part, base in zip(runs, parts, bases, strict=True):
            keys = run.between(low * part.events, high * part.events)
            numbers = keys // part.events
            some.append(numbers * events + (keys - numbers * part.events) + base)
        # Lists of one subscription stand in the parts' order already: what is sorted is nearly sorted.
        yield np.sort(np.concatenate(some))


def _greatest(part: Segment) -> int:
    """The greatest number that any pair of a segment has."""
    run = part.run("by_number")
    if not len(run.firsts):
        return 0
    return int(run.keys(len(run.firsts) - 1)[-1]) // part.events
