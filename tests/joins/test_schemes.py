"""All schemes on random histories: filters accept whom they should, and clients hold what they should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.joins.index.messages import Form, Messages, Operation, accepts
from tamis.joins.index.ranges import Shape
from tamis.joins.schemes.scheme import SCHEMES, Scheme
from tests.generated import cases
from tests.joins.histories import History, Signatures, drawn_ranges
from tests.joins.reference import Client, World, deliver

BINARY: tuple[Shape, Signatures] = (Shape((1, 1), ((0, 1),)), [((0,), {0: 0, 1: 0})])
WIDE: tuple[Shape, Signatures] = (Shape((2, 3), ((0, 1),)), [((0,), {0: 0, 1: 0})])
CHAIN: tuple[Shape, Signatures] = (
    Shape((1, 2, 1), ((0, 1), (1, 2)), signatures=((0,), (0, 1), (0, 1), (1,))),
    [
        ((0,), {0: 0, 1: 0}),
        ((0, 1), {0: 0, 1: 0, 2: 1}),
        ((0, 1), {0: 0, 1: 1, 2: 1}),
        ((1,), {1: 1, 2: 1}),
    ],
)
TRIANGLE: tuple[Shape, Signatures] = (
    Shape((1, 1, 1), ((0, 1), (1, 2), (0, 2)), signatures=((0, 1, 2), (0, 1, 2), (2,))),
    [((0, 1, 2), {0: 0, 1: 1, 2: 2}), ((0, 1, 2), {0: 2, 1: 0, 2: 2}), ((2,), {0: 2, 2: 2})],
)
ENVELOPES: tuple[Shape, Signatures] = (
    Shape((2, 2, 1), ((0, 1), (1, 2)), considered=(2, 2, 1), signatures=((0,), (0, 1), (0, 1))),
    [((0,), {0: 0, 1: 0}), ((0, 1), {0: 0, 1: 0, 2: 1}), ((0, 1), {0: 0, 1: 1, 2: 1})],
)
SHAPES = {"binary": BINARY, "wide": WIDE, "chain": CHAIN, "triangle": TRIANGLE, "envelopes": ENVELOPES}
SEMIJOINS = [name for name in SCHEMES if "sj" in name]
BY_RESULTS = [name for name in SCHEMES if name.endswith(("-j", "-j+"))]


class Play:
    """A scheme, a world, clients, and a history that goes on."""

    def __init__(self, name: str, shape: Shape, signatures: Signatures, seed: int, domain: int, keys: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.shape, self.signatures, self.domain = shape, signatures, domain
        self.scheme: Scheme = SCHEMES[name](shape)
        self.world = World(shape)
        self.history = History(self.rng, self.scheme, self.world, domain, keys)
        self.clients: dict[int, Client] = {}

    def subscribe(self, count: int) -> None:
        """Newcomers begin with what they would have been told."""
        ranges = drawn_ranges(self.rng, self.shape, self.signatures, count, self.domain)
        for number in self.scheme.subscribe(ranges).tolist():
            relaxed = self.scheme.name not in SEMIJOINS
            ranges = self.scheme.state.subscriptions
            self.clients[number] = client = Client(self.world, ranges, number, relaxed=relaxed)
            client.results = self.results(number)
            client.held = self.kept(number)
        self.refresh()

    def unsubscribe(self, count: int) -> None:
        going = self.rng.permutation(sorted(self.clients))[:count]
        self.scheme.unsubscribe(going)
        for number in going.tolist():
            del self.clients[number]
        self.refresh()

    def refresh(self) -> None:
        for client in self.clients.values():
            client.ranges = self.scheme.state.subscriptions

    def kept(self, number: int) -> list[set[int]]:
        ranges = self.scheme.state.subscriptions
        if self.scheme.name == "rel-sel":
            return [
                {
                    row
                    for row in self.world.values[t]
                    if ranges.filtering[number, t] >= 0
                    and self.world.selects(ranges, number, t, row, self.shape.considered[t])
                }
                for t in range(self.shape.tables)
            ]
        return [self.world.semijoin(ranges, number, t) for t in range(self.shape.tables)]

    def results(self, number: int, held: list[set[int]] | None = None) -> set[tuple[int, ...]]:
        ranges = self.scheme.state.subscriptions
        return self.world.join(ranges, number, self.signatures[int(ranges.signature[number])][0], held)

    def go_on(self, count: int) -> Messages:
        messages = self.scheme.change(self.history.changes(count))
        deliver(messages, self.shape, self.scheme.state.subscriptions, self.clients)
        self.history.forget()
        return messages

    def check(self) -> None:
        for number, client in self.clients.items():
            if self.scheme.name in BY_RESULTS:
                assert client.results == self.results(number)
                continue
            kept = self.kept(number)
            assert client.held == kept
            assert self.results(number, client.held) == self.results(number)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", SCHEMES)
@settings(max_examples=cases(12), deadline=None)
@given(seed=st.integers(0, 1 << 32), domain=st.sampled_from([4, 12, 60]), keys=st.sampled_from([1, 3]))
def test_clients_hold_what_they_should_after_every_batch(
    name: str, shape: str, seed: int, domain: int, keys: int
) -> None:
    play = Play(name, *SHAPES[shape], seed, domain, keys)
    play.subscribe(12)
    for _ in range(12):
        play.go_on(int(play.rng.integers(1, 6)))
        play.check()
        if play.rng.random() < 0.3:
            play.unsubscribe(int(play.rng.integers(1, 4)))
        if play.rng.random() < 0.3:
            play.subscribe(int(play.rng.integers(1, 4)))


@pytest.mark.parametrize("name", [name for name in SEMIJOINS if name.startswith("ref")])
@settings(max_examples=cases(12), deadline=None)
@given(seed=st.integers(0, 1 << 32), domain=st.sampled_from([4, 12, 60]))
def test_descriptions_accept_exactly_the_affected(name: str, seed: int, domain: int) -> None:
    play = Play(name, *BINARY, seed, domain, keys=1)
    play.subscribe(40)
    for _ in range(20):
        before = [dict(rows) for rows in play.world.values]
        messages = play.scheme.change(play.history.changes(1))
        ranges = play.scheme.state.subscriptions
        for m in range(len(messages)):
            if messages.form[m] not in (Form.POINTS, Form.SKYLINE):
                continue
            part = messages.tuples(m)
            table = int(messages.table[part][0])
            reached = [before[1 - table][row][0] for row in before[1 - table]]
            expected = [
                any(
                    ranges.low[s, table] <= value <= ranges.high[s, table]
                    for value in messages.values[messages.first_value[part.start] : messages.first_value[part.stop]]
                )
                and any(ranges.low[s, 1 - table] <= value <= ranges.high[s, 1 - table] for value in reached)
                for s in range(len(ranges))
            ]
            assert accepts(messages, m, ranges, play.shape).tolist() == expected
        play.history.forget()


@pytest.mark.parametrize("name", SCHEMES)
def test_rows_are_told_of_by_their_number(name: str) -> None:
    play = Play(name, *BINARY, seed=3, domain=4, keys=1)
    play.subscribe(30)
    messages = play.scheme.change(changes := play.history.changes(60))
    known = [set(), set()]  # type: list[set[int]]
    for event in range(len(changes)):
        table = int(changes.table[event])
        for m in np.flatnonzero(messages.event == event):
            part = messages.tuples(int(m))
            for operation, where, row in zip(
                messages.operation[part], messages.table[part], messages.row[part], strict=True
            ):
                if operation == Operation.INSERT and where != table:
                    assert row in known[where]
        if changes.new[event] >= 0:
            known[table].add(int(changes.new[event]))
        if changes.old[event] >= 0:
            known[table].discard(int(changes.old[event]))
