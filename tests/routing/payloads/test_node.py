"""CN* nodes hand every subscriber whole messages in order, whatever they remember; a payload goes over a link once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.routing.payloads import (
    Acknowledge,
    Ask,
    Carried,
    Deliver,
    Lost,
    Parcel,
    PayloadNode,
    Send,
    payload_id,
)
from tests.generated import cases
from tests.routing.payloads.wires import Wires


def parcel(body: str, *contents: str) -> Parcel:
    return Parcel(body.encode(), tuple(Carried.of(content.encode(), "0") for content in contents), "0")


@settings(max_examples=cases(60), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    nodes=st.integers(2, 8),
    directory=st.integers(0, 3),
    repository=st.integers(0, 3),
    some_plain=st.booleans(),
    at_once=st.booleans(),
)
def test_subscribers_get_whole_messages_in_order(
    seed: int, nodes: int, directory: int, repository: int, some_plain: bool, at_once: bool
) -> None:
    rng = np.random.default_rng(seed)
    plain = [some_plain and n > 0 and bool(rng.random() < 0.5) for n in range(nodes)]
    wires = Wires([0, *(int(rng.integers(n)) for n in range(1, nodes))], plain, directory, repository)
    expected: dict[int, list[tuple[bytes, list[bytes]]]] = {}
    for number in range(12):
        contents = [f"payload {rng.integers(4)}" for _ in range(rng.integers(0, 3))]
        wanting = {n for n in range(nodes) if rng.random() < 0.5}
        wires.publish(parcel(str(number), *contents), wanting)
        for n in wanting:
            expected.setdefault(n, []).append((str(number).encode(), [content.encode() for content in contents]))
        if not at_once:
            wires.run(rng)
    wires.run(rng)
    got = {
        n: [(one.body, [carried.content for carried in one.payloads]) for one in parcels]
        for n, parcels in wires.delivered.items()
    }
    assert got == expected
    assert not wires.lost
    assert all(node.waiting == 0 for node in wires.nodes)


def test_a_link_carries_a_payload_once() -> None:
    wires = Wires([0, 0, 1, 1], [False] * 4, 10, 10)
    rng = np.random.default_rng(0)
    for number, wanting in enumerate([{2}, {2}, {2, 3}, {3}]):  # Figure 4 of the paper
        wires.publish(parcel(str(number), "bulky"), wanting)
        wires.run(rng)
    assert wires.contents_sent == 3
    assert wires.asks == 0


def test_plain_nodes_get_the_payload_each_time() -> None:
    wires = Wires([0, 0, 1], [False, True, False], 10, 10)
    rng = np.random.default_rng(0)
    for number in range(3):
        wires.publish(parcel(str(number), "bulky"), {2})
        wires.run(rng)
    assert wires.contents_sent == 6


def test_without_a_repository_only_nodes_with_subscribers_ask_and_they_ask_the_publisher() -> None:
    wires = Wires([0, 0, 1], [False] * 3, 10, 0)
    rng = np.random.default_rng(0)
    for number in range(3):
        wires.publish(parcel(str(number), "bulky"), {2})
        wires.run(rng)
    assert (wires.contents_sent, wires.asks) == (2, 2)
    assert [carried.source for carried in wires.delivered[2][-1].payloads] == ["0"]


def test_a_node_that_has_forgotten_asks_the_node_before_it() -> None:
    node = PayloadNode("b", 1, repository=1)
    first = Carried(payload_id(b"x"), b"x", "a")
    node.receive(Parcel(b"1", (first,), "0"), [0], came_by=0)
    node.acknowledged(0, [first.id])
    node.receive(Parcel(b"2", (Carried(payload_id(b"y"), b"y", "a"),), "0"), [0], came_by=0)
    by_name = Carried(first.id, None, "a")
    assert node.receive(Parcel(b"3", (by_name,), "0"), [0], came_by=0, deliver=True) == [
        Ask("a", first.id),
        Send(0, Parcel(b"3", (by_name,), "0")),
    ]
    assert node.refused(first.id, "a") == [Ask("0", first.id)]
    assert node.supplied(first.id, b"x", "0") == [Deliver(Parcel(b"3", (Carried(first.id, b"x", "b"),), "0"))]


def test_what_waits_holds_up_its_own_link_only() -> None:
    node = PayloadNode("b", 2)
    named = Carried(payload_id(b"x"), None, "a")
    assert node.receive(Parcel(b"1", (named,), "0"), [0], came_by=0) == [Ask("a", named.id)]
    assert node.receive(Parcel(b"2"), [0, 1], came_by=0) == [Send(1, Parcel(b"2"))]
    assert [action.parcel.body for action in node.supplied(named.id, b"x", "a") if isinstance(action, Send)] == [
        b"1",
        b"2",
    ]


def test_a_payload_that_nobody_has_is_reported_and_the_rest_goes_on() -> None:
    node = PayloadNode("b", 2)
    named = Carried(payload_id(b"x"), None, "a")
    other = Carried(payload_id(b"y"), None, "a")
    lost = Parcel(b"1", (named, other), "0")
    node.receive(lost, [0], came_by=0)
    node.receive(Parcel(b"2"), [0], came_by=0)
    assert node.refused(named.id, "a") == [Ask("0", named.id)]
    assert node.refused(named.id, "0") == [Lost(0, lost, named.id), Send(0, Parcel(b"2"))]
    assert node.waiting == 0
    assert node.supplied(other.id, b"y", "a") == []


def test_a_parcel_that_is_lost_leaves_a_question_to_the_others_that_wait_for_its_answer() -> None:
    node = PayloadNode("b", 2)
    named, other = (Carried(payload_id(content), None, "a") for content in (b"x", b"y"))
    node.receive(Parcel(b"1", (named, other)), [0], came_by=0)
    node.receive(Parcel(b"2", (other,)), [0], came_by=0)
    assert node.refused(named.id, "a") == [Lost(0, Parcel(b"1", (named, other)), named.id)]
    assert node.unanswered(0) != ()
    supplied = Carried(other.id, b"y", "b")
    assert node.supplied(other.id, b"y", "a") == [Send(0, Parcel(b"2", (supplied,)))]
    assert (node.unanswered(0), node.waiting) == ((), 0)


def test_a_parcel_of_which_two_payloads_are_with_nobody_is_lost_once() -> None:
    node = PayloadNode("b", 2)
    nowhere = tuple(Carried(payload_id(content), None, "") for content in (b"x", b"y"))
    lost = Parcel(b"1", nowhere)
    assert node.receive(lost, [0], came_by=0, deliver=True) == [
        Lost(None, lost, nowhere[0].id),
        Lost(0, lost, nowhere[0].id),
    ]
    assert node.waiting == 0


def test_what_came_by_one_link_waits_for_no_answer_to_what_came_by_another() -> None:
    node = PayloadNode("b", 3)
    by_one, by_other = (Carried(payload_id(b"x"), None, source) for source in ("one", "other"))
    assert node.receive(Parcel(b"1", (by_one,)), [2], came_by=0) == [Ask("one", by_one.id)]
    assert node.receive(Parcel(b"2", (by_other,)), [2], came_by=1) == [Ask("other", by_one.id)]
    assert node.refused(by_one.id, "one") == [Lost(2, Parcel(b"1", (by_one,)), by_one.id)]
    assert node.receive(Parcel(b"3"), [2], came_by=0) == [Send(2, Parcel(b"3"))]
    node.gone(0)
    assert len(node.supplied(by_one.id, b"x", "other")) == 1


def test_a_link_that_is_gone_leaves_nothing_that_waits() -> None:
    node = PayloadNode("b", 2)
    named = Carried(payload_id(b"x"), None, "a")
    node.receive(Parcel(b"1", (named,)), [1], came_by=0, deliver=True)
    node.gone(0)
    assert (node.waiting, node.unanswered(0)) == (0, ())
    assert node.supplied(named.id, b"x", "a") == []
    assert node.receive(Parcel(b"2"), [], came_by=0, deliver=True) == [Deliver(Parcel(b"2"))]


def test_an_answer_with_another_content_is_a_refusal() -> None:
    node = PayloadNode("b", 1)
    named = Carried(payload_id(b"x"), None, "a")
    node.receive(Parcel(b"1", (named,), "0"), [0], came_by=0)
    assert node.supplied(named.id, b"forged", "a") == [Ask("0", named.id)]


def test_a_forgotten_link_gets_payloads_anew() -> None:
    node = PayloadNode("b", 70)
    carried = Carried.of(b"x", "a")
    for link in (3, 66):
        node.acknowledged(link, [carried.id])  # nothing is known of it yet, so nothing is remembered
    node.receive(Parcel(b"1", (carried,), "a"), [3, 66])
    for link in (3, 66):
        node.acknowledged(link, [carried.id])
    node.forget(66)
    sent = [action for action in node.receive(Parcel(b"2", (carried,), "a"), [3, 66]) if isinstance(action, Send)]
    assert [action.parcel.whole for action in sent] == [False, True]


def test_what_comes_with_its_payload_is_acknowledged() -> None:
    node = PayloadNode("b", 1)
    whole, named = Carried.of(b"x", "a"), Carried(payload_id(b"y"), None, "a")
    actions = node.receive(Parcel(b"1", (whole, named), "a"), [], came_by=0)
    assert actions == [Acknowledge(0, (whole.id,))]


@pytest.mark.parametrize("sizes", [(-1, 0), (0, -1)])
def test_less_than_nothing_is_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="less than no entries"):
        PayloadNode("b", 1, directory=sizes[0], repository=sizes[1])
