"""Frames come back from their bytes as they were, and nothing else passes for one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.eventlog.base.event_log import content_hash, key_hash
from tamis.eventlog.spool.segments import (
    HEADER_SIZE,
    FrameError,
    FrameHeader,
    check_payload,
    from_payload,
    parse_header,
    to_payload,
)

SPOOL = bytes(range(16))

headers = st.builds(
    FrameHeader,
    first=st.integers(0, 2**63 - 1),
    count=st.integers(1, 2**32 - 1),
    received=st.integers(-(2**63), 2**63 - 1),
    group=st.integers(0, 2**64 - 1),
    key=st.binary(min_size=16, max_size=16),
    content=st.binary(min_size=16, max_size=16),
    length=st.integers(0, 2**32 - 1),
    checksum=st.integers(0, 2**32 - 1),
)
texts = st.lists(st.text(), min_size=1, max_size=8)


@given(headers, st.binary(max_size=20))
def test_a_header_comes_back_as_it_was_whatever_follows_it(header: FrameHeader, after: bytes) -> None:
    assert parse_header(header.to_bytes(SPOOL) + after, SPOOL) == header


@given(headers, st.integers(0, HEADER_SIZE * 8 - 1))
def test_no_bit_of_a_header_can_flip_unseen(header: FrameHeader, bit: int) -> None:
    raw = bytearray(header.to_bytes(SPOOL))
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(FrameError):
        parse_header(bytes(raw), SPOOL)


@given(headers, st.integers(0, HEADER_SIZE - 1))
def test_part_of_a_header_is_none(header: FrameHeader, size: int) -> None:
    with pytest.raises(FrameError, match="cut off"):
        parse_header(header.to_bytes(SPOOL)[:size], SPOOL)


@given(headers)
def test_a_frame_of_another_spool_does_not_pass_for_one_of_this(header: FrameHeader) -> None:
    with pytest.raises(FrameError, match="checksum"):
        parse_header(header.to_bytes(b"another spool id"), SPOOL)


@given(texts, st.data())
def test_events_come_back_from_their_payload(bodies: list[str], data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.text(), min_size=len(bodies), max_size=len(bodies)))
    read = from_payload(to_payload(pa.array(ids), pa.array(bodies)).to_pybytes())
    assert read.to_pydict() == {"id": ids, "body": bodies}


@given(texts, st.data())
def test_a_payload_that_is_short_or_changed_is_found_out(bodies: list[str], data: st.DataObject) -> None:
    from zlib import crc32

    payload = to_payload(pa.array(bodies), pa.array(bodies)).to_pybytes()
    header = FrameHeader(0, len(bodies), 0, 0, bytes(16), bytes(16), len(payload), crc32(payload))
    check_payload(header, payload)
    with pytest.raises(FrameError, match="cut off"):
        check_payload(header, payload[: data.draw(st.integers(0, len(payload) - 1))])
    changed = bytearray(payload)
    changed[data.draw(st.integers(0, len(payload) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(FrameError, match="do not fit"):
        check_payload(header, bytes(changed))


@given(texts, st.lists(st.text(), max_size=3), st.lists(st.text(), max_size=3))
def test_content_is_the_same_however_arrow_lays_it_out(bodies: list[str], before: list[str], after: list[str]) -> None:
    part = pa.array(before + bodies + after, pa.string()).slice(len(before), len(bodies))
    assert content_hash(part) == content_hash(pa.array(bodies, pa.string()))


@given(texts, texts)
def test_other_content_has_another_hash(one: list[str], other: list[str]) -> None:
    assert (content_hash(pa.array(one)) == content_hash(pa.array(other))) == (one == other)


def test_content_is_told_apart_also_by_where_one_body_ends() -> None:
    assert content_hash(pa.array(["ab", "c"])) != content_hash(pa.array(["a", "bc"]))


def test_a_key_is_only_there_as_a_hash() -> None:
    assert key_hash("order 17") != key_hash("order 18")
    assert len(key_hash("order 17")) == 16
