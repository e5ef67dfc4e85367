"""Slow patterns in the query over the log: whoever holds everybody up is suspended, and the others miss nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tamis.eventlog import open_log
from tamis.service.worker.following import FollowingTable
from tamis.service.worker.matching import Matching
from tamis.service.worker.messages import RefusedSubscription, Suspended
from tamis.service.worker.suspending import Fairness
from tamis.workloads.auction_lots import lots
from tests.service.worker.auction_house import AuctionHouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOISE = "".join(random.Random(7).choices("ab", k=200_000))
# Both a near-limit LIKE, tried at every other place, and an RLIKE that remembers many places at once.
SLOW = "title LIKE '%" + "_b" * 450 + "_q%' OR title RLIKE 'a[ab]{200}b[ab]{200}[0-9]'"


def none_is_refused(refusal: RefusedSubscription) -> None:
    pytest.fail(str(refusal))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[AuctionHouse]:
    opened = AuctionHouse(tmp_path / "state")
    yield opened
    opened.close()


@pytest.mark.timeout(600)
def test_whoever_holds_everybody_up_is_suspended_and_a_bystander_misses_nothing(
    spark: SparkSession, house: AuctionHouse
) -> None:
    bystander = house.subscribe("title LIKE '%a_b%'")
    slow = [house.subscribe(SLOW.replace("_q%", "_" * extra + "_q%")) for extra in range(3)]
    told: list[Suspended] = []
    state = house.settings.state
    fairness = Fairness(house.store, state / "desk", told.append, budget=0.2, patience=0.0)
    table = FollowingTable(state / "table", house.store, none_is_refused)
    matching = Matching(
        spark, open_log(house.settings.log), house.store, table, state / "checkpoint", lambda _: None, fairness=fairness
    )
    try:
        event = next(lots(5))
        # What is found in a value is remembered for it: each is another one.
        events = [json.dumps(event | {"title": "q" + NOISE[place:] + "7"}) for place in range(4)]
        ids = house.publish_texts(events)
        matching.wait_for_all()
        assert {one.id for one in told} <= {one.id for one in slow}
        assert told
        first = house.store.subscriptions.get(told[0].id)
        assert first is not None
        assert (first.state, first.reason) == ("suspended", told[0].reason)
        more = house.publish_texts(events)
        matching.wait_for_all()
        suspended = {one.suspended for one in told}
        notified = house.notified
        assert {id: count for (id, number), count in notified.items() if number == bystander.number} == dict.fromkeys(
            [*ids, *more], 1
        )
        assert not [pair for pair in notified if pair[1] in suspended]
    finally:
        matching.stop()
