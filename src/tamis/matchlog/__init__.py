"""The match log: what micro-batches matched, as immutable segments of packed arrays, in both orders.

packing.py   kernels over blocks of bit-packed keys
runs.py      a run: ascending keys in packed blocks, searched through a directory
texts.py     ids and bodies of events, compressed some at a time
segment.py   a segment: one file or blob, with a checksum for every page
merging.py   neighbouring segments as one

Nothing here knows of a database: who keeps segments names them, and what is not named is not there.
"""

from tamis.matchlog.merging import merged
from tamis.matchlog.segment import DamagedSegment, Segment, built, without

__all__ = ["DamagedSegment", "Segment", "built", "merged", "without"]
