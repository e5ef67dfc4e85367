"""Bulky values on links: what one neighbour owes holds up nothing that came from another, and nothing for ever."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.broker.link import Answers, LinkPayloads, with_contents
from tamis.broker.messages import Batch, Holds, MessageError, Supply, Want
from tamis.routing.payloads import payload_id
from tests.generated import cases

A, B = "link:a", "link:b"
X, Y, Z = (letter * 80 for letter in (b"x", b"y", b"z"))


def batch(position: int, origin: str, values: list[bytes], inline: list[bytes]) -> Batch:
    """A message with these values, some of them with their contents and the others by name."""
    contents = {payload_id(value): value for value in values}
    going = {payload_id(value): value for value in inline}
    return with_contents(Batch(position, origin, "epoch", position, 1, b"slim"), b"slim", contents, going)


def handed_on(answers: Answers) -> list[tuple[str, int]]:
    return [(whole.link, whole.batch.position) for whole in answers.whole]


def wants(answers: Answers) -> list[tuple[str, str]]:
    return [(link, message.id) for link, message in answers.messages if isinstance(message, Want)]


@pytest.fixture
def payloads() -> LinkPayloads:
    made = LinkPayloads("me", 2)
    made.begin(A)
    made.begin(B)
    return made


def test_a_batch_that_cannot_become_whole_holds_up_nothing_of_the_next_session(payloads: LinkPayloads) -> None:
    payloads.arrived(B, batch(1, "b", [X], []), 1)
    payloads.arrived(A, batch(1, "a", [X, Y], []), 1)
    for link in (B, A):
        payloads.end(link)
    for link in (A, B):
        payloads.begin(link)
    came = [
        *handed_on(payloads.arrived(A, batch(1, "a", [X, Y], [X, Y]), 1)),
        *handed_on(payloads.arrived(B, batch(1, "b", [X], [X]), 1)),
        *handed_on(payloads.arrived(B, batch(2, "b", [], []), 1)),
    ]
    assert came == [(A, 1), (B, 1), (B, 2)]


def test_a_value_that_one_neighbour_owes_holds_up_nothing_of_another(payloads: LinkPayloads) -> None:
    assert wants(payloads.arrived(B, batch(1, "b", [X], []), 1)) == [(B, payload_id(X).hex())]
    assert handed_on(payloads.arrived(A, batch(1, "a", [], []), 1)) == [(A, 1)]
    assert wants(payloads.arrived(A, batch(2, "a", [X], []), 1)) == [(A, payload_id(X).hex())]
    assert handed_on(payloads.arrived(A, batch(3, "a", [], []), 1)) == []
    payloads.end(B)
    assert handed_on(payloads.supplied(A, Supply(payload_id(X).hex(), X))) == [(A, 2), (A, 3)]


def test_a_value_that_came_serves_all_links_that_wait_for_it(payloads: LinkPayloads) -> None:
    payloads.arrived(A, batch(1, "a", [X], []), 1)
    payloads.arrived(B, batch(1, "b", [X], []), 1)
    assert handed_on(payloads.supplied(B, Supply(payload_id(X).hex(), X))) == [(A, 1), (B, 1)]
    assert handed_on(payloads.supplied(A, Supply(payload_id(X).hex(), X))) == []
    assert payloads.unanswered(A) == payloads.unanswered(B) == ()


def test_another_value_than_was_asked_for_ends_the_session_that_brought_it_and_no_other(payloads: LinkPayloads) -> None:
    payloads.arrived(A, batch(1, "a", [X], []), 1)
    payloads.arrived(B, batch(1, "b", [X], []), 1)
    with pytest.raises(MessageError, match="not what it is called"):
        payloads.supplied(B, Supply(payload_id(X).hex(), Y))
    payloads.end(B)
    assert handed_on(payloads.supplied(A, Supply(payload_id(X).hex(), X))) == [(A, 1)]


@dataclass
class Neighbour:
    """The other end of a link: its batches in order, how many were sent, and questions that it has not answered."""

    link: str
    batches: list[list[bytes]] = field(default_factory=list)
    sent: int = 0
    received: int = 0
    asked: deque[Want] = field(default_factory=deque)


steps = st.lists(
    st.tuples(
        st.sampled_from(["publish", "send", "send", "answer", "break"]),
        st.integers(0, 2),
        st.lists(st.sampled_from([X, Y, Z]), unique=True, max_size=3),
        st.integers(0, 7),
    ),
    max_size=60,
)


@given(steps, st.integers(0, 3))
@settings(max_examples=cases(200), deadline=None)
def test_every_batch_is_handed_on_once_and_in_the_order_of_its_link(
    happen: list[tuple[str, int, list[bytes], int]], repository: int
) -> None:
    payloads = LinkPayloads("me", repository)
    neighbours = [Neighbour(f"link:{name}") for name in "abc"]
    by_link = {each.link: each for each in neighbours}

    def take(answers: Answers) -> None:
        for link, message in answers.messages:
            assert isinstance(message, Holds | Want)
            if isinstance(message, Want):
                by_link[link].asked.append(message)
        for whole in answers.whole:
            each = by_link[whole.link]
            assert whole.batch.position == each.received + 1
            assert list(whole.contents.values()) == each.batches[each.received]
            each.received += 1

    def send(each: Neighbour, inline: int) -> None:
        if each.sent < len(each.batches):
            each.sent += 1
            values = each.batches[each.sent - 1]
            going = [value for place, value in enumerate(values) if inline >> place & 1]
            take(payloads.arrived(each.link, batch(each.sent, each.link, values, going), 1))

    def answer(each: Neighbour) -> None:
        if each.asked:
            id = each.asked.popleft().id
            content = next(value for value in (X, Y, Z) if payload_id(value).hex() == id)
            take(payloads.supplied(each.link, Supply(id, content)))

    def break_off(each: Neighbour) -> None:
        payloads.end(each.link)
        payloads.begin(each.link)
        each.sent = each.received
        each.asked.clear()

    for each in neighbours:
        payloads.begin(each.link)
    for what, whose, values, inline in happen:
        each = neighbours[whose]
        match what:
            case "publish":
                each.batches.append(values)
            case "send":
                send(each, inline)
            case "answer":
                answer(each)
            case "break":
                break_off(each)
    for each in neighbours:
        # One after the other: what the others still owe must not matter.
        while each.sent < len(each.batches) or each.asked:
            send(each, 0)
            answer(each)
        assert each.received == len(each.batches)
        assert payloads.unanswered(each.link) == ()
