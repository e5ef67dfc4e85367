"""Lines between the processes say what they said, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from tamis.service.worker.messages import Batch, Followed, Message, Noticed, RefusedSubscription, Turn, read, written


@pytest.mark.parametrize(
    "message",
    [
        Batch(3, 4, events=5, matches=6, dead=7, ms=8.5, revision=9, processed=10, lag_events=11),
        Turn("running", head=0),
        Turn("failed", error="line one\nline two: “é”"),
        RefusedSubscription(5, "no such attribute"),
        Followed(12),
        Noticed("the checkpoint is damaged"),
    ],
)
def test_a_message_comes_back_as_it_was(message: Message) -> None:
    line = written(message)
    assert line.count(b"\n") == 1
    assert read(line) == message


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"hello", b"[]", b"7", b"{}", b'{"batch": 1, "colour": 2}', b'{"batch": 1}', b"\xff"]
)
def test_anything_else_is_none(line: bytes) -> None:
    assert read(line) is None
