"""When a pattern makes another one hold: sound, and complete enough for patterns that differ in length or case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tamis.language.patterns import Wildcard, read_like, write_like
from tamis.language.predicates import Like, RLike

Parts: TypeAlias = Sequence[str | Wildcard]


def pattern_implies(stronger: Like | RLike, weaker: Like | RLike) -> bool:
    """True if every string that satisfies the first is seen to satisfy the second. Both are on one attribute.

    >>> pattern_implies(Like("title", "%oak desk%"), Like("title", "%oak%"))
    True
    >>> pattern_implies(Like("title", "Oak%"), Like("title", "oak%", ignore_case=True))
    True
    """
    if stronger == weaker:
        return True
    if isinstance(stronger, RLike) or isinstance(weaker, RLike) or (stronger.ignore_case and not weaker.ignore_case):
        return False
    ours, theirs = read_like(str(stronger.pattern)) or [], read_like(str(weaker.pattern)) or []
    if weaker.ignore_case:
        theirs = _parts(str(weaker.pattern).lower())
        ours = _parts(str(stronger.pattern).lower()) if stronger.ignore_case else _lowered(ours)
    return _includes(_parts(write_like(ours)), theirs)


def _parts(pattern: str) -> list[str | Wildcard]:
    return read_like(pattern) or []


def _lowered(parts: Parts) -> list[str | Wildcard]:
    """Parts of the lower case of a string with these parts: other letters than ASCII's may become several."""
    lowered: list[str | Wildcard] = []
    for part in parts:
        if isinstance(part, str) and part.isascii():
            lowered.append(part.lower())
        else:
            lowered += [Wildcard.ANY] if part is Wildcard.ANY else [Wildcard.ONE, Wildcard.ANY]
    return lowered


def _includes(ours: Parts, theirs: Parts) -> bool:
    """True if their parts take ours as if those were a text: a `%` of ours only by a `%`, a `_` not by a letter."""
    all_of_ours = (1 << len(ours) + 1) - 1
    places: dict[str | Wildcard, int] = {}  # bit k: ours[k] is this
    for k, own in enumerate(ours):
        places[own] = places.get(own, 0) | 1 << k
    takes_one = all_of_ours & ~places.get(Wildcard.ANY, 0)
    reached = 1  # bit k: their parts so far take the first k of ours
    for part in theirs:
        if part is Wildcard.ANY:
            reached = -(reached & -reached) & all_of_ours
        else:
            reached = (reached & (takes_one if part is Wildcard.ONE else places.get(part, 0))) << 1 & all_of_ours
        if not reached:
            return False
    return bool(reached >> len(ours))
