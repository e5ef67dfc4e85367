"""A server that follows events, of which another has told, is as if it had told of them itself."""

from __future__ import annotations

from dataclasses import fields
from random import Random

import numpy as np
import pytest

from tamis.joins.index.messages import Messages
from tamis.joins.schemes.scheme import SCHEMES
from tamis.joins.server import JoinServer
from tests.service.worker.exchange import ALL_THREE, PRAISED, SCHEMA, TRADED, drawn

TEXTS = {"praised": PRAISED, "traded": TRADED, "three": ALL_THREE}
TWO_TABLES = {"praised": PRAISED, "traded": TRADED}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("texts", [TEXTS, TWO_TABLES], ids=["three tables", "two tables"])
def test_what_is_told_after_events_does_not_depend_on_whether_they_were_told_or_followed(
    scheme: str, texts: dict[str, str]
) -> None:
    random = Random(len(scheme))
    teller, follower = (JoinServer(SCHEMA, texts, scheme=scheme) for _ in range(2))
    told = 0
    for second in range(0, 96, 12):
        events = drawn(random, 12, second)
        applied = teller.apply(events)
        if second % 36 == 24:
            again = follower.apply(events)
            told += len(again.messages)
            assert _arrays(again.messages) == _arrays(applied.messages)
            assert again.refused == applied.refused
        else:
            follower.follow(events)
        assert follower.sequence == teller.sequence
        for id in texts:
            assert dict(follower.results_of(id)) == dict(teller.results_of(id))
    assert told


def _arrays(messages: Messages) -> dict[str, list[object]]:
    return {field.name: np.asarray(getattr(messages, field.name)).tolist() for field in fields(messages)}
