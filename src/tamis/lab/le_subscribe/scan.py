"""A compiled scan: every subscription verified on every event."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.compiled import bare_kernel
from tamis.lab.le_subscribe.verified import Intervals, VerifiedLevel, holds, intervals_of, load, settle
from tamis.matching.base.matches import CANDIDATES
from tamis.matching.codes.codes import Conjuncts
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.plan import Knowledge


@bare_kernel
def match_by_scanning(
    codes: Any, sets: Any, first: int, own: Any, rest: Any, memory: Any, seen: Any, stamp: int, room: int, event: Any,
    scratch: Any, out: Any, ends: Any, work: Any,
) -> int:  # fmt: skip
    """See `Level.run`."""
    (intervals,) = own
    end = ends[first]
    for e in range(first, len(codes)):
        if end + room > len(out):
            return e
        stamp += 1
        load(codes, e, event)
        work[CANDIDATES] += len(intervals.offsets) - 1
        for c in range(len(intervals.offsets) - 1):
            if holds(intervals, c, event, work):
                out[end] = c
                end += 1
        end = settle(ends[e], end, e, event, sets, rest, memory, seen, stamp, out, work)
        ends[e + 1] = end
    return len(codes)


class ScanLevel(VerifiedLevel):
    """Intervals in the conjunctions' order; what is asked of sets is tested."""

    parts: ClassVar[dict[str, type[Any]]] = {"intervals": Intervals}
    kernel = match_by_scanning

    @classmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Intervals]:
        return (intervals_of(conjuncts, conjuncts.columns < encoder.singles),)


class ScanMatcher(LevelledMatcher[ScanLevel]):
    """The naive algorithm (Fabret et al., Le Subscribe, §3.1 Fig 1) over codes, compiled: the baseline of its rivals.

    Predicates are evaluated subscription by subscription until one fails.
    """

    name: ClassVar[str] = "scan"
    level = ScanLevel
