"""The client: exact content whatever the scheme, repeats and order within a change, starting anew."""

from __future__ import annotations

import random
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.joins.client import Cut, Forgotten, JoinClient, Kept, Note, Whole
from tamis.joins.naive import NaiveJoins
from tamis.testing import GeneratedJoins, join_workloads
from tests.generated import cases
from tests.joins.told import Rows, enumerated, relaxed, selected, semijoined, snapshot
from tests.language.joins.test_parsing import FROM, SCHEMA


def spoilt(notes: list[Note], past: list[Note], rng: random.Random) -> list[Note]:
    """The notes of one change in any order, some of them twice, with some of the past in between."""
    again = [*notes, *rng.choices(notes or [Note(0, ())], k=2), *rng.choices(past or [Note(0, ())], k=3)]
    rng.shuffle(again)
    return again


def filters_of(oracle: NaiveJoins, id: str, rng: random.Random) -> dict[str, str]:
    """For each table a neighbour, mutual or not."""
    signature = oracle.joins[id].signature
    return {table: rng.choice(signature.neighbours(table)) for table in signature.tables}


@pytest.mark.parametrize("scheme", ["rel-sel", "enum-sj", "enum-j"])
@given(workload=join_workloads(max_subscriptions=2, max_events=40, max_tables=3), seed=st.integers(0, 1 << 16))
@settings(max_examples=cases(25), deadline=None)
def test_the_content_is_the_oracles_after_every_change(scheme: str, workload: GeneratedJoins, seed: int) -> None:
    rng = random.Random(seed)
    oracle = NaiveJoins(workload.schema, workload.texts)
    filtering = {id: filters_of(oracle, id, rng) for id in workload.texts}
    clients = {
        id: JoinClient(text, workload.schema, filtering[id] if scheme == "enum-sj" else None)
        for id, text in workload.texts.items()
    }
    shown: dict[str, list[str]] = {id: [] for id in clients}
    past: dict[str, list[Note]] = {id: [] for id in clients}
    number = 0
    for event in workload.events:
        shadow = deepcopy(oracle)
        changes, _ = oracle.apply([event])
        for change in changes:
            number += 1
            before: dict[str, Rows] = {id: selected(shadow, id) for id in clients}
            old = {id: shadow.content(id) for id in clients}
            rows = shadow.tables[change.table].rows
            rows.pop(change.identity, None)
            if change.after is not None:
                rows[change.identity] = change.after
            for id, client in clients.items():
                after = selected(shadow, id)
                if scheme == "enum-j":
                    notes = enumerated(old[id], shadow.content(id), number)
                else:
                    told = relaxed if scheme == "rel-sel" else semijoined
                    notes = told(shadow, id, filtering[id], change, before[id], after, number)
                delta = client.apply(spoilt(notes, past[id], rng))
                past[id] += notes
                assert dict(client.results) == shadow.content(id)
                for gone in delta.removed:
                    shown[id].remove(repr(gone))
                shown[id] += map(repr, delta.added)
                assert sorted(shown[id]) == sorted(map(repr, client.content()))


@given(workload=join_workloads(max_subscriptions=1, max_events=20), seed=st.integers(0, 1 << 16))
@settings(max_examples=cases(15), deadline=None)
def test_a_client_that_starts_anew_has_the_content_and_goes_on(workload: GeneratedJoins, seed: int) -> None:
    oracle = NaiveJoins(workload.schema, workload.texts)
    filtering = filters_of(oracle, "j0", random.Random(seed))
    oracle.apply(workload.events)
    client = JoinClient(workload.texts["j0"], workload.schema, filtering)
    first = client.resync(snapshot(oracle, "j0", filtering, 7))
    assert dict(client.results) == oracle.content("j0")
    assert len(first.added) == len(client)
    assert not client.resync(snapshot(oracle, "j0", filtering, 9))


MUTUAL = {"Stocks": "Reviews", "Reviews": "Stocks"}


def test_what_lost_its_last_partner_is_forgotten() -> None:
    """The server tells nothing of a review that joins nothing, so a client that kept one would join it later."""
    client = JoinClient(FROM, SCHEMA, MUTUAL)
    stock, review = Kept("Stocks", ("GOOG",), STOCK), Kept("Reviews", ("GOOG", "Ann"), REVIEW)
    client.apply([Note(1, (stock, review)), Note(2, (Forgotten("Stocks", ("GOOG",)),))])
    client.apply([Note(4, (stock,))])  # at 3 the review was deleted, which was nobody's business
    assert len(client) == 0
    client.apply([Note(5, (review,)), Note(1, (review,))])
    assert len(client) == 1


def test_what_the_server_cuts_is_forgotten_and_does_not_come_back_by_a_repeat() -> None:
    client = JoinClient(FROM, SCHEMA, MUTUAL)
    stock, review = Kept("Stocks", ("GOOG",), STOCK), Kept("Reviews", ("GOOG", "Ann"), REVIEW)
    client.apply([Note(1, (stock, review)), Note(2, (Cut("Reviews", STOCK),)), Note(1, (review,))])
    assert len(client) == 0
    client.apply([Note(3, (review,)), Note(2, (Cut("Reviews", STOCK),))])
    client.apply([Note(3, (stock,))])
    assert len(client) == 1


STOCK: dict[str, list[object]] = {"Symbol": ["GOOG"], "Market": ["NY"], "PER": [51.5]}
REVIEW: dict[str, list[object]] = {"Symbol": ["GOOG"], "Analyst": ["Ann"], "Rating": [7.5]}


def test_results_are_shown_as_selected() -> None:
    client = JoinClient(FROM, SCHEMA)
    notes = [Note(1, (Kept("Stocks", ("GOOG",), STOCK),)), Note(2, (Kept("Reviews", ("GOOG", "Ann"), REVIEW),))]
    assert client.apply(notes).added == [
        {"Symbol": "GOOG", "Market": "NY", "PER": 51.5, "Analyst": "Ann", "Rating": 7.5}
    ]
    two = JoinClient("SELECT Rating, Symbol FROM Stocks JOIN Reviews USING (Symbol)", SCHEMA)
    assert two.apply(notes).added == [{"Rating": 7.5, "Symbol": "GOOG"}]
    assert two.apply([Note(3, (Forgotten("Stocks", ("GOOG",)),))]).removed == [{"Rating": 7.5, "Symbol": "GOOG"}]
    assert len(two) == 0


def test_an_update_is_one_result_gone_and_one_come() -> None:
    client = JoinClient(FROM, SCHEMA)
    ids = (("GOOG",), ("GOOG", "Ann"))
    client.apply([Note(1, (Whole(ids, (STOCK, REVIEW), there=True),))])
    dearer = STOCK | {"PER": [60.0]}
    parts = (Whole(ids, (STOCK, REVIEW), there=False), Whole(ids, (dearer, REVIEW), there=True))
    delta = client.apply([Note(2, parts)])
    assert [row["PER"] for row in delta.removed] == [51.5]
    assert [row["PER"] for row in delta.added] == [60.0]
    assert not client.apply([Note(2, parts), Note(1, (Whole(ids, (STOCK, REVIEW), there=True),))])


def test_conditions_that_the_server_does_not_look_at_are_the_clients() -> None:
    client = JoinClient(FROM + " WHERE Analyst LIKE 'B%'", SCHEMA, MUTUAL)
    client.apply([Note(1, (Kept("Stocks", ("GOOG",), STOCK), Kept("Reviews", ("GOOG", "Ann"), REVIEW)))])
    assert len(client) == 0
    bob = REVIEW | {"Analyst": ["Bob"]}
    # The stock was sent before; a client that had not kept it would miss it now.
    assert len(client.apply([Note(2, (Kept("Reviews", ("GOOG", "Bob"), bob),))]).added) == 1
