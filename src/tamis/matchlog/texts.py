"""Ids and bodies of events, compressed some at a time: a look-up decompresses a few dozen events, and a merge none.

A group is the length of its plain form and its zstd form. Plain: the number of events, where each id and each body
ends, all ids, all bodies.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from tamis.arrays import Int64s, UInt8s
from tamis.matchlog.runs import Check

GROUP = 64
"""Events of a group. With twice as many a look-up takes twice as long, and a body of 60 bytes a byte less."""

_LENGTH = struct.Struct("<I")
_FEW = GROUP // 2  # events of a group, on the average, below which groups are made anew when segments are merged


@dataclass(frozen=True, slots=True)
class Texts:
    """Groups one after the other: the first event of each and its place, with one more of both for the end."""

    events: Int64s
    starts: Int64s
    blob: UInt8s
    check: Check | None = None

    def __len__(self) -> int:
        return int(self.events[-1])

    def of(self, ranks: Int64s) -> Iterator[tuple[str, str]]:
        """Id and body of events by their ascending ranks."""
        groups = np.searchsorted(self.events, ranks, "right") - 1
        for group in np.unique(groups).tolist():
            ids, bodies = self._group(group)
            first = int(self.events[group])
            for rank in ranks[groups == group].tolist():
                yield ids[rank - first], bodies[rank - first]

    def _group(self, group: int) -> tuple[list[str], list[str]]:
        ids, bodies = self._arrays(group)
        return ids.to_pylist(), bodies.to_pylist()

    def _arrays(self, group: int) -> tuple[pa.StringArray, pa.StringArray]:
        start, end = int(self.starts[group]), int(self.starts[group + 1])
        if self.check is not None:
            self.check(start, end)
        raw = pa.py_buffer(self.blob)[start:end]
        (length,) = _LENGTH.unpack(raw[: _LENGTH.size].to_pybytes())
        plain = pa.Codec("zstd").decompress(raw[_LENGTH.size :], length)
        (count,) = _LENGTH.unpack(plain[: _LENGTH.size].to_pybytes())
        offsets = _LENGTH.size + 4 * (count + 1)
        texts = offsets + 4 * (count + 1)
        ids = plain[_LENGTH.size : offsets], plain[texts:]
        length_of_ids = int(np.frombuffer(plain[offsets - 4 : offsets], np.int32)[0])
        bodies = plain[offsets:texts], plain[texts + length_of_ids :]
        return (
            pa.StringArray.from_buffers(count, *ids),
            pa.StringArray.from_buffers(count, *bodies),
        )


def grouped(ids: pa.StringArray, bodies: pa.StringArray) -> Texts:
    """Texts of events in groups."""
    codec, parts, starts = pa.Codec("zstd", 1), list[bytes](), [0]
    firsts = [*range(0, len(ids), GROUP), len(ids)]
    for low, high in pairwise(firsts):
        plain = [_LENGTH.pack(high - low)]
        told = [_flat(texts.slice(low, high - low)) for texts in (ids, bodies)]
        plain += [offsets for offsets, _ in told] + [text for _, text in told]
        whole = b"".join(plain)
        parts.append(_LENGTH.pack(len(whole)) + codec.compress(whole, asbytes=True))
        starts.append(starts[-1] + len(parts[-1]))
    blob = np.frombuffer(b"".join(parts), np.uint8)
    return Texts(np.array(firsts if len(ids) else [0], np.int64), np.array(starts, np.int64), blob)


def chained(parts: Sequence[Texts]) -> Texts:
    """Texts one after the other. Groups are copied as they are, unless they have become too small to be worth it."""
    events, groups = sum(map(len, parts)), sum(len(part.starts) - 1 for part in parts)
    if events < groups * _FEW:
        arrays = [part._arrays(group) for part in parts for group in range(len(part.starts) - 1)]
        return grouped(pa.concat_arrays([ids for ids, _ in arrays]), pa.concat_arrays([texts for _, texts in arrays]))
    return Texts(
        _following([part.events for part in parts]),
        _following([part.starts for part in parts]),
        np.concatenate([part.blob for part in parts]),
    )


def _following(lists: Sequence[Int64s]) -> Int64s:
    """Ascending lists, each from 0 to its end, one after the other."""
    ends = np.cumsum([int(one[-1]) for one in lists])
    shifted = [one[1:] + end - int(one[-1]) for one, end in zip(lists, ends, strict=True)]
    return np.concatenate([np.zeros(1, np.int64), *shifted])


def _flat(texts: pa.StringArray) -> tuple[bytes, bytes]:
    """Ends of texts, from 0 on, and the texts themselves one after the other."""
    _, ends, data = texts.buffers()
    offsets = np.frombuffer(ends, np.int32, len(texts) + 1, texts.offset * 4)
    first, last = int(offsets[0]), int(offsets[-1])
    return (offsets - offsets[0]).astype("<i4").tobytes(), b"" if data is None else data[first:last].to_pybytes()
