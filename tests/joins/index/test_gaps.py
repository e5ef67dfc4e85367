"""Gaps remember until something changes: rows beside them, or subscriptions in them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.joins.index.messages import Form, accepts
from tamis.joins.index.stabbing_kernels import JOURNAL
from tests.generated import cases
from tests.joins.histories import drawn_ranges
from tests.joins.test_schemes import BINARY, Play


def described_rightly(play: Play) -> int:
    """Changes once and compares with all subscriptions; how many points were sent."""
    before = [dict(rows) for rows in play.world.values]
    messages = play.scheme.change(play.history.changes(1))
    ranges, points = play.scheme.state.subscriptions, 0
    for m in np.flatnonzero(messages.form == Form.SKYLINE):
        part = messages.tuples(int(m))
        table = int(messages.table[part.start])
        values = messages.values[messages.first_value[part.start] : messages.first_value[part.stop]]
        reached = np.array([row[0] for row in before[1 - table].values()])
        selected = ((ranges.low[:, table, None] <= values) & (values <= ranges.high[:, table, None])).any(axis=1)
        low, high = ranges.low[:, 1 - table, None], ranges.high[:, 1 - table, None]
        affected = selected & ((low <= reached) & (reached <= high)).any(axis=1)
        assert (accepts(messages, int(m), ranges, play.shape) == affected).all()
        points += len(messages.description(int(m))) // 2
    play.history.forget()
    return points


@settings(max_examples=cases(15), deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_gaps_hear_of_single_subscriptions_that_come_and_go(seed: int) -> None:
    play = Play("ref-sj-clu+", *BINARY, seed, domain=60, keys=1)
    numbers = play.scheme.subscribe(drawn_ranges(play.rng, *BINARY, 300, 60)).tolist()
    points = 0
    for _ in range(60):
        points += described_rightly(play)
        if play.rng.random() < 0.5:
            numbers += play.scheme.subscribe(drawn_ranges(play.rng, *BINARY, 2, 60)).tolist()
        else:
            going = [numbers.pop(int(play.rng.integers(len(numbers)))) for _ in range(2)]
            play.scheme.unsubscribe(going)
    assert points > 40


def test_gaps_look_again_when_the_journal_has_moved_on() -> None:
    play = Play("ref-sj-clu+", *BINARY, seed=5, domain=200, keys=1)
    play.scheme.subscribe(drawn_ranges(play.rng, *BINARY, 4 * JOURNAL, 200))
    for _ in range(20):
        described_rightly(play)
    numbers = play.scheme.subscribe(drawn_ranges(play.rng, *BINARY, JOURNAL // 2, 200))
    for _ in range(4):
        play.scheme.unsubscribe(numbers)
        numbers = play.scheme.subscribe(drawn_ranges(play.rng, *BINARY, JOURNAL // 2, 200))
    for _ in range(10):
        described_rightly(play)
