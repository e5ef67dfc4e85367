from __future__ import annotations

import numpy as np

from tamis.matching.patterns.regex_set import Recent


def numbers(*of: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(of, np.int32)


def test_answers_are_found_again() -> None:
    recent = Recent(10_000)
    recent.keep([b"a", b"b"], [numbers(1, 2), numbers()])
    one, other, missing = recent.find([b"a", b"b", b"c"])
    assert one is not None
    assert one.tolist() == [1, 2]
    assert other is not None
    assert other.tolist() == []
    assert missing is None


def test_the_least_recently_used_is_forgotten_first() -> None:
    recent = Recent(200 * 20)
    for number in range(30):
        recent.keep([b"%d" % number], [numbers(number)])
        recent.find([b"0"])
    assert recent.find([b"0"]) != [None]
    assert recent.find([b"1"]) == [None]
    assert recent.find([b"29"]) != [None]
    assert len(recent) < 20


def test_a_value_as_large_as_many_others_is_not_kept() -> None:
    recent = Recent(10_000)
    recent.keep([b"small", b"x" * 5_000], [numbers(), numbers()])
    assert len(recent) == 1
