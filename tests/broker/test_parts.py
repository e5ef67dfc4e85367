"""The small parts of a broker, each by itself."""

from __future__ import annotations

import json
import sqlite3
import struct
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.broker.access import Access, AccessError, is_loopback, split_address
from tamis.broker.events import pack, published, put_back, read_events, take_out, unpack, write_events
from tamis.broker.messages import (
    Active,
    Alter,
    Ask,
    Batch,
    FilterChange,
    Hello,
    Leave,
    Message,
    MessageError,
    Table,
    Taken,
    decode,
    encode,
)
from tamis.broker.outbox import WINDOW, Outbox, QueueBound, Seen
from tamis.broker.settling import Asked, LinkRecord, Settling, Topology
from tamis.broker.store import BrokerStore, BrokerStoreError

_RECORD = LinkRecord("a", "b", 3)
_MESSAGES: list[Message] = [
    Hello("a", "e", "f", (_RECORD, _RECORD.ended())),
    Active("v", "x", "y", 7),
    Table(3, ("price < 1",), ("kind = 'ü'",), last=False),
    Alter(4, FilterChange(("TRUE",)), FilterChange((), ("x", "y"))),
    Batch(1, "a", "e", 2, 3, b"\0events", 2, ("00ff",), (5,)),
    Ask(1, {"i": "TRUE"}, {}, ("j",)),
    Taken(1, 2, {"3": "why"}, repeated=True),
    Leave(),
]


@pytest.mark.parametrize("message", _MESSAGES, ids=lambda each: type(each).__name__)
def test_a_message_survives_its_bytes(message: Message) -> None:
    assert decode(encode(message)) == message


@given(st.binary(max_size=200))
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(MessageError):
        decode(data)


@pytest.mark.parametrize(
    "form",
    [
        {"": "Received", "position": "1"},
        {"": "Received", "position": True},
        {"": "Received", "position": 1 << 64},
        {"": "Received"},
        {"": "Received", "position": 1, "more": 1},
        {"": "__import__", "position": 1},
        {"": "Ask", "number": 1, "subscribe": {"a": 1}},
        {"": "View", "records": [{"one": "a"}]},
        [],
    ],
)
def test_fields_of_other_types_are_refused(form: object) -> None:
    header = json.dumps(form).encode()
    with pytest.raises(MessageError):
        decode(struct.pack(">I", len(header)) + header)


@given(st.lists(st.integers(1, 3 * WINDOW), max_size=60))
def test_a_batch_is_taken_once_and_memory_is_bounded(numbers: list[int]) -> None:
    seen, taken = Seen(BrokerStore.open(None, "x")), set[int]()
    highest = 0
    for number in numbers:
        expected = number not in taken and number >= highest - WINDOW
        assert seen.take("origin", "epoch", number) == expected
        taken.add(number)
        highest = max(highest, number)
    assert seen.take("origin", "another epoch", 1)
    assert len(seen) == 1


def test_what_was_seen_is_seen_after_a_restart() -> None:
    store = BrokerStore.open(None, "x")
    seen = Seen(store)
    assert seen.take("o", "e", 5)
    assert seen.take("o", "e", 3)
    store.commit()
    again = Seen(store.after_crash())
    assert [again.take("o", "e", number) for number in (3, 4, 5, 6)] == [False, True, False, True]


@given(st.integers(0, 1 << 30))
def test_the_tree_spans_what_the_links_connect_without_a_circle(seed: int) -> None:
    random = Random(seed)
    names = [f"n{k}" for k in range(8)]
    records: list[LinkRecord] = []
    topology = Topology()
    for _ in range(random.randrange(1, 15)):
        record = topology.with_link(*random.sample(names, 2))
        if record is None:
            continue
        before = topology.tree
        topology, _ = topology.merged([record])
        assert before <= topology.tree, "a link that comes takes no other's place"
        records.append(record)
    assert len(topology.tree) == len({n for r in records for n in r.ends}) - _parts(r.ends for r in records)
    shuffled = random.sample(records, len(records))
    other = Topology()
    for record in shuffled:
        other, _ = other.merged([record])
    assert (other.digest, other.tree) == (topology.digest, topology.tree)
    gone = random.choice(records)
    less, new = topology.merged([gone.ended()])
    assert new
    assert gone.ends not in less.tree
    assert not less.merged([gone])[1], "an older record changes nothing"


def _parts(links: object) -> int:
    """How many parts a graph falls into."""
    found: list[set[str]] = []
    for link in links:  # type: ignore[attr-defined]
        joined = set(link)
        for part in [part for part in found if part & joined]:
            found.remove(part)
            joined |= part
        found.append(joined)
    return len(found)


def _outbox(bound: QueueBound) -> Outbox:
    return Outbox("link:x", BrokerStore.open(None, "x"), bound, (0, 0, 0, 0, 0))


def test_a_queue_sends_a_window_and_goes_on_when_it_is_acknowledged() -> None:
    outbox = _outbox(QueueBound())
    for _ in range(100):
        outbox.put(2, lambda position: str(position).encode())
    sent = [int(body) for body in outbox.next()[1]]
    assert sent == list(range(1, len(sent) + 1))
    assert 0 < len(sent) < 100
    assert outbox.next() == (0, [])
    outbox.acknowledge(10)
    assert [int(body) for body in outbox.next()[1]] == list(range(len(sent) + 1, len(sent) + 11))
    outbox.rewind()
    events, bodies = outbox.next()
    assert int(bodies[0]) == 11
    assert events == 2 * len(bodies)


def test_a_full_queue_blocks_or_drops_the_oldest_into_dead_letters() -> None:
    blocking = _outbox(QueueBound(events=4))
    dropping = _outbox(QueueBound(events=4, overflow="drop"))
    for outbox in (blocking, dropping):
        for _ in range(3):
            outbox.put(2, lambda position: str(position).encode())
    assert blocking.blocks
    assert (blocking.events, blocking.dropped) == (6, 0)
    assert not dropping.blocks
    assert (dropping.events, dropping.dropped) == (4, 2)
    assert [int(body) for body in dropping.next()[1]] == [2, 3]
    store = dropping._store
    assert store.dropped() == 2
    assert [(hop, position, events, body) for hop, position, events, _, body in store.dead()] == [
        ("link:x", 1, 2, b"1")
    ]


def test_a_change_is_settled_when_all_that_follows_from_it_is() -> None:
    settling = Settling()
    asked = Asked("client:c", 1)
    assert settling.begin(Asked("client:c", 0), ())
    assert not settling.begin(asked, [("link:a", 4), ("link:b", 2)])
    assert settling.settled("link:a", 4, upto=False) == []
    assert settling.outstanding(but="link:a") == {("link:b", 2)}
    assert settling.settled("link:b", 3, upto=True) == [asked]
    assert not settling.begin(asked, [("link:a", 5)])
    settling.forget("client:c")
    assert settling.settled("link:a", 9, upto=True) == []


def test_bulky_values_are_taken_out_once_and_put_back() -> None:
    long, picture = "x" * 100, bytes(range(200))
    events = pa.RecordBatch.from_pydict(
        {"note": [long, "short", long, None], "price": [1, 2, 3, 4], "image": [picture, None, b"", picture]}
    )
    taken = take_out(events, 50, 1_000)
    assert sorted(taken.contents.values(), key=len) == [long.encode(), picture]
    assert taken.events.column(0).to_pylist() == [None, "short", None, None]
    assert put_back(taken.events, taken.contents).equals(events)
    assert sum(column.nbytes for column in taken.events.columns[:3]) < 100
    with pytest.raises(MessageError):
        put_back(taken.events, {})
    assert take_out(events, 50, 60).events is events


def test_events_that_are_no_arrow_are_refused() -> None:
    good = write_events(pa.RecordBatch.from_pydict({"price": [1]}))
    for bad in (b"", good[:-20], b"x" * 100, good[:40] + b"\xff" * 8 + good[48:]):
        with pytest.raises(MessageError):
            read_events(bad)
    with pytest.raises(MessageError):
        unpack(good)
    assert unpack(pack(published(read_events(good)))).rows.to_pylist() == [0]


def test_a_token_is_asked_for_and_files_are_checked(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef\n")
    access = Access.read(token)
    assert access.admits(access.metadata())
    assert not access.admits(())
    assert not access.admits([("authorization", "Bearer 0123456789abcdeF")])
    assert "0123" not in repr(access)
    token.write_text("short")
    with pytest.raises(AccessError, match="at least 16"):
        Access.read(token)
    with pytest.raises(AccessError, match="cannot read"):
        Access.read(tmp_path / "none")
    with pytest.raises(AccessError, match="go together"):
        Access.read(certificate=token)


def test_addresses_are_read() -> None:
    assert split_address("[::1]:7070") == ("::1", 7070)
    assert [is_loopback(each) for each in ("127.0.0.1:1", "localhost:1", "[::1]:1", "10.0.0.1:1")] == [True] * 3 + [
        False
    ]
    for bad in ("here", "host:", ":1", "host:70000", "host:x"):
        with pytest.raises(AccessError):
            split_address(bad)


def test_a_state_folder_belongs_to_one_broker_at_a_time(tmp_path: Path) -> None:
    store = BrokerStore.open(tmp_path / "state", "one")
    with pytest.raises(BrokerStoreError, match="another broker"):
        BrokerStore.open(tmp_path / "state", "one")
    epoch = store.epoch
    store.close()
    with pytest.raises(BrokerStoreError, match="that of 'one'"):
        BrokerStore.open(tmp_path / "state", "two")
    again = BrokerStore.open(tmp_path / "state")
    assert (again.name, again.epoch) == ("one", epoch)
    again.close()
    with pytest.raises(BrokerStoreError, match="is no name"):
        BrokerStore.open(None, "a name")


@pytest.mark.parametrize("what", ["garbage", "cut off"])
def test_a_damaged_state_is_told_with_what_to_do(tmp_path: Path, what: str) -> None:
    BrokerStore.open(tmp_path, "one").close()
    file = tmp_path / "broker.sqlite"
    file.write_bytes(b"\xa5" * 9_000 if what == "garbage" else file.read_bytes()[:5_000])
    with pytest.raises(
        BrokerStoreError, match="the file is damaged: stop what uses it and restore its whole folder from a backup"
    ):
        BrokerStore.open(tmp_path, "one")


def test_a_state_that_may_not_be_written_is_told_with_what_to_look_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = sqlite3.OperationalError("disk I/O error")
    failed.sqlite_errorcode = sqlite3.SQLITE_IOERR | 19 << 8  # as SQLite's extended codes are: of its shared memory

    def fail(*_: object, **__: object) -> None:
        raise failed

    monkeypatch.setattr(sqlite3, "connect", fail)
    with pytest.raises(
        BrokerStoreError, match=r"I/O error; may this user write there, is there room, and is the disk well\?"
    ):
        BrokerStore.open(tmp_path, "one")
