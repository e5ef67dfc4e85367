"""The table follows the store: nothing acknowledged is missing, whatever was interrupted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from unittest.mock import MagicMock

import pyarrow as pa
import pytest

import tamis
from tamis.matching.matchers import Choice
from tamis.pipeline import SubscriptionTable
from tamis.service.base.configuration import Settings
from tamis.service.base.offering import USUAL, Algorithms
from tamis.service.store import ChangeRow, Store, Subscriptions
from tamis.service.worker import process as standby
from tamis.service.worker.following import FollowingTable
from tamis.service.worker.messages import RefusedSubscription
from tamis.testing import reference_matches
from tamis.workloads.auction_lots import auction_schema, interests, lots
from tests.service.worker.auction_house import LATER, SCHEMA, AuctionHouse


@pytest.fixture
def house(tmp_path: Path) -> Iterator[AuctionHouse]:
    opened = AuctionHouse(tmp_path / "state")
    yield opened
    opened.close()


def none_is_refused(refusal: RefusedSubscription) -> None:
    pytest.fail(str(refusal))


class Followed:
    """A table over a house's store, and what it refused."""

    def __init__(self, house: AuctionHouse, algorithms: Algorithms = USUAL) -> None:
        self.refused: list[RefusedSubscription] = []
        self.folder = house.settings.state / "table"
        self.table = FollowingTable(self.folder, house.store, self.refused.append, algorithms=algorithms)

    @property
    def tables(self) -> list[Path]:
        """The folders of the tables that there are."""
        return sorted(self.folder.iterdir())

    def index_for(self, batch: int) -> tamis.Index:
        """The index that a batch is matched with."""
        snapshot = self.table.for_batch("q", batch)
        (part,) = snapshot.parts
        folder = Path(part.base).parents[1]
        return SubscriptionTable(folder).index(int(Path(part.base).name) + len(part.changes))

    def matched_against(self, batch: int) -> dict[int, str]:
        """The filters that a batch is matched against."""
        index = self.index_for(batch)
        return {int(id): index.text(id) for id in index.ids().to_pylist()}


def test_a_new_table_holds_what_is_active(house: AuctionHouse) -> None:
    house.subscribe("price < 10")
    house.cancel(house.subscribe("price < 20"))
    paused = house.subscribe("price < 30")
    house.store.subscriptions.replace(paused.id, state="paused")
    del house.subscribed[paused.number]
    assert Followed(house).matched_against(0) == house.subscribed


def test_a_batch_sees_every_change_made_before_it(house: AuctionHouse) -> None:
    followed = Followed(house)
    first = house.subscribe("price < 10")
    assert followed.matched_against(0) == house.subscribed
    house.cancel(first)
    second = house.subscribe("quantity > 3")
    house.store.subscriptions.replace(second.id, text="quantity > 4", filter="quantity > 4")
    house.subscribed[second.number] = "quantity > 4"
    assert followed.matched_against(1) == house.subscribed
    house.store.subscriptions.replace(second.id, state="paused")
    assert followed.matched_against(2) == {}
    house.store.subscriptions.replace(second.id, state="active")
    assert followed.matched_against(3) == house.subscribed


def test_a_subscription_past_its_time_is_not_matched(house: AuctionHouse) -> None:
    gone = house.subscribe("price < 10", expires=datetime.now(UTC) - timedelta(seconds=1))
    assert Followed(house).matched_against(0) == {}
    found = house.store.subscriptions.get(gone.id)
    assert found is not None
    assert found.state == "expired"


def test_a_batch_that_is_run_again_has_the_version_it_had_first(house: AuctionHouse) -> None:
    followed = Followed(house)
    house.subscribe("price < 10")
    before = followed.matched_against(7)
    house.subscribe("price < 20")
    assert followed.matched_against(7) == before
    assert followed.matched_against(8) == house.subscribed
    assert Followed(house).matched_against(8) == house.subscribed


def as_0_1_left_it(folder: Path, applied: bytes) -> None:
    """Writes the notes of a table as Tamis 0.1 has them: each in a file of its own."""
    current = json.loads((folder / "current.json").read_bytes()) | {"format": 1}
    for stream, notes in current.pop("batches").items():
        for batch, version in notes.items():
            (folder / "notes" / stream).mkdir(parents=True, exist_ok=True)
            (folder / "notes" / stream / batch).write_text(str(version))
    (folder / "notes").mkdir(exist_ok=True)
    del current["note"]
    (folder / "current.json").write_text(json.dumps(current))
    (folder / "applied.json").write_bytes(applied)


def test_a_table_that_0_1_left_is_gone_on_with(house: AuctionHouse) -> None:
    followed = Followed(house)
    house.subscribe("price < 10")
    before = followed.matched_against(7)
    (folder,) = followed.tables
    as_0_1_left_it(folder, json.dumps(json.loads((folder / "current.json").read_bytes())["note"]).encode())
    house.subscribe("price < 20")
    again = Followed(house)
    assert again.tables == [folder]
    assert again.matched_against(7) == before
    assert again.matched_against(8) == house.subscribed
    assert json.loads((folder / "current.json").read_bytes())["format"] == 2


def test_a_changed_subscription_is_noted_with_its_revision_and_its_batch_at_once(
    house: AuctionHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed = Followed(house)
    followed.matched_against(7)
    house.subscribe("price < 10")
    flushed: list[int] = []
    flush = os.fsync

    def counted(file: int) -> None:
        flushed.append(file)
        flush(file)

    monkeypatch.setattr(os, "fsync", counted)
    followed.table.for_batch("stream", 8)
    assert len(flushed) == 4  # a change file, `current.json`, and the folder of each
    assert followed.table.applied == house.store.subscriptions.revision


def test_a_crash_between_the_change_and_its_note_is_harmless(house: AuctionHouse) -> None:
    followed = Followed(house)
    kept, gone = house.subscribe("price < 10"), house.subscribe("price < 20")
    followed.table.catch_up()
    (folder,) = followed.tables
    noted = json.dumps(json.loads((folder / "current.json").read_bytes())["note"]).encode()
    house.cancel(gone)
    house.store.subscriptions.replace(kept.id, text="price < 11", filter="price < 11")
    house.subscribed[kept.number] = "price < 11"
    followed.table.catch_up()
    for lost in (noted, b"", b"{"):
        (folder,) = followed.tables
        as_0_1_left_it(folder, lost)
        again = Followed(house)
        assert again.matched_against(0) == house.subscribed
        assert again.refused == []
        assert again.table.applied == house.store.subscriptions.revision


def test_a_table_that_is_damaged_or_of_another_store_is_built_anew(house: AuctionHouse) -> None:
    house.subscribe("price < 10")
    followed = Followed(house)
    house.subscribe("price < 20")
    followed.table.catch_up()
    (folder,) = followed.tables
    (folder / "current.json").write_text("{")
    assert Followed(house).matched_against(0) == house.subscribed
    (folder,) = followed.tables
    table = SubscriptionTable(folder)
    table.annotate({"revision": 1000})
    table.change(add={"999": "price < 30"})
    assert Followed(house).matched_against(0) == house.subscribed


def test_what_the_language_refuses_is_reported_and_matches_nothing(house: AuctionHouse) -> None:
    bad = house.subscribe("prise < 10")
    good = house.subscribe("price < 10")
    followed = Followed(house)
    assert [refusal.subscription for refusal in followed.refused] == [bad.number]
    house.store.subscriptions.replace(good.id, text="price <", filter="price <")
    other = house.subscribe("price < 20")
    assert followed.matched_against(0) == {other.number: "price < 20"}
    assert [refusal.subscription for refusal in followed.refused] == [bad.number, good.number]


def test_a_schema_that_grew_has_a_table_of_its_own_before_the_next_batch(house: AuctionHouse) -> None:
    followed = Followed(house)
    house.subscribe("price < 10")
    assert followed.matched_against(0) == house.subscribed
    wider = auction_schema().extend(attributes={"colour": "string"}, optional={"furniture": {"colour": "optional"}})
    house.store.schemas.add(wider.to_dict())
    house.subscribe("colour = 'red'")
    # Another thread may catch up while a batch still works with the table of before.
    before = followed.tables
    followed.table.catch_up()
    assert followed.tables == before
    assert followed.refused == []
    assert followed.matched_against(1) == house.subscribed
    assert "colour" in followed.table.schema.attributes
    assert followed.refused == []
    assert [path.name for path in followed.tables] == ["2.2"]


def test_a_table_that_is_kept_up_without_batches_has_nothing_left_to_do_for_the_first(house: AuctionHouse) -> None:
    followed = Followed(house)
    wider = auction_schema().extend(attributes={"colour": "string"}, optional={"furniture": {"colour": "optional"}})
    house.store.schemas.add(wider.to_dict())
    house.subscribe("colour = 'red'")
    followed.table.keep_up()
    kept = followed.tables
    assert [path.name for path in kept] == ["2.1"]
    assert followed.matched_against(0) == house.subscribed
    assert followed.tables == kept


def test_many_changes_come_in_pages(house: AuctionHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.service.worker.following._PAGE", 100)
    followed = Followed(house)
    rows = pa.table({"id": [str(n) for n in range(950)], "filter": list(islice(interests(1), 950))})
    house.store.subscriptions.import_table(rows, owner="", expires=LATER, delivery={"mode": "pull"})
    assert sorted(followed.matched_against(0).values()) == sorted(rows["filter"].to_pylist())
    assert followed.table.applied == house.store.subscriptions.revision
    rebuilt = FollowingTable(house.settings.state / "other", house.store, followed.refused.append)
    assert rebuilt.applied == followed.table.applied


def test_very_many_changes_make_a_new_table(house: AuctionHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.service.worker.following._MANY", 100)
    house.subscribe("price < 10")
    followed = Followed(house)
    followed.matched_against(0)
    (before,) = followed.tables
    for text in islice(interests(1), 101):
        house.subscribe(text)
    followed.table.catch_up()
    # The table of before stays while a batch may be at work with it.
    assert before in followed.tables
    assert followed.matched_against(1) == house.subscribed
    (now,) = followed.tables
    assert now != before
    house.subscribe("price < 20")
    assert followed.matched_against(2) == house.subscribed
    assert followed.tables == [now]
    assert Followed(house).table.applied == house.store.subscriptions.revision


def test_what_another_follower_saw_the_end_of_and_the_store_has_removed_is_not_held_for_ever(
    house: AuctionHouse,
) -> None:
    house.subscribe("price < 10")
    gone = house.subscribe("price < 20")
    waiting = Followed(house)
    assert waiting.matched_against(0) == house.subscribed
    house.cancel(gone)
    known = house.store.subscriptions.revision
    assert house.store.subscriptions.purge(datetime.now(UTC) + timedelta(seconds=1), followed=known) == 1
    assert waiting.matched_against(1) == house.subscribed
    (built,) = waiting.tables
    assert waiting.table.applied == known
    house.subscribe("price < 30")
    assert waiting.matched_against(2) == house.subscribed
    assert waiting.tables == [built], "that was once"


def test_what_ends_while_a_table_is_built_is_not_in_it(house: AuctionHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.service.worker.following._PAGE", 2)
    early = house.subscribe("price < 1")
    for text in islice(interests(1), 5):
        house.subscribe(text)
    changes = type(house.store.subscriptions).changes

    def changing(self: Subscriptions, after: int, limit: int = 50_000) -> list[ChangeRow]:
        rows = changes(self, after, limit)
        if early.number in house.subscribed:
            house.cancel(early)
        return rows

    monkeypatch.setattr(type(house.store.subscriptions), "changes", changing)
    assert Followed(house).matched_against(0) == house.subscribed


def test_it_works_over_any_store(any_store: Store, tmp_path: Path) -> None:
    any_store.schemas.add(auction_schema().to_dict())
    rows = pa.table({"id": ["a", "b"], "filter": ["price < 1", "price < 2"]})
    any_store.subscriptions.import_table(rows, owner="", expires=LATER, delivery={"mode": "pull"})
    table = FollowingTable(tmp_path / "table", any_store, none_is_refused)
    assert table.applied == any_store.subscriptions.revision == 2
    assert len(SubscriptionTable(tmp_path / "table" / "1.2")) == 2


TREE = Algorithms(Choice.of("tree", {"factor": ["period"]}), "sub-order")


def test_a_table_of_another_matcher_follows_the_store_all_the_same(house: AuctionHouse) -> None:
    gone = house.subscribe("price < 10")
    followed = Followed(house, TREE)
    for text in islice(interests(8), 30):
        house.subscribe(text)
    house.cancel(gone)
    assert followed.matched_against(0) == house.subscribed
    matcher = followed.index_for(0).matcher
    assert (matcher.name, matcher.given_options["factor"]) == ("tree", ("period",))
    events = list(islice(lots(5), 20))
    filters = {str(number): text for number, text in house.subscribed.items()}
    found = [sorted(ids) for ids in followed.index_for(0).match(events).to_lists()]
    assert found == [sorted(ids) for ids in reference_matches(filters, SCHEMA, events)]


def test_a_process_that_is_told_another_matcher_builds_the_table_anew(house: AuctionHouse) -> None:
    house.subscribe("price < 10")
    Followed(house)
    house.subscribe("price < 20")
    for algorithms in (TREE, Algorithms(TREE.choice), Algorithms(Choice.of("tree"))):
        followed = Followed(house, algorithms)
        assert followed.index_for(0).matcher.name == "tree"
        assert followed.matched_against(0) == house.subscribed
        noted = json.loads((followed.tables[0] / "current.json").read_bytes())["note"]
        assert noted["algorithms"] == algorithms.noted()
        again = Followed(house, algorithms)
        assert again.tables == followed.tables


def test_a_table_that_was_noted_before_matchers_could_be_chosen_is_gone_on_with(house: AuctionHouse) -> None:
    house.subscribe("price < 10")
    (folder,) = Followed(house).tables
    current = json.loads((folder / "current.json").read_bytes())
    del current["note"]["algorithms"]
    (folder / "current.json").write_text(json.dumps(current))
    made = folder.stat().st_ino
    followed = Followed(house)
    assert [path.stat().st_ino for path in followed.tables] == [made]
    assert Followed(house, TREE).index_for(0).matcher.name == "tree"


def test_the_matching_process_has_the_matcher_of_the_settings_it_is_started_with(
    house: AuctionHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.subscribe("price < 10")
    for slow in ("start_session", "warm", "rehearse", "try_out"):
        monkeypatch.setattr(standby, slow, MagicMock())
    given = replace(house.settings, matcher="tree", matcher_options={"factor": ["period"]}, schedule="sub-order")
    ready = standby.Standby(Settings.from_json(given.to_json()), MagicMock(), house.store, lambda _: None)
    ready.warmed()
    (part,) = ready.table.newest().parts
    index = tamis.Index.open(part.base)
    assert (index.matcher.name, index.matcher.given_options["factor"]) == ("tree", ("period",))
    noted = json.loads((Path(part.base).parents[1] / "current.json").read_bytes())["note"]
    assert noted["algorithms"]["schedule"] == "sub-order"
