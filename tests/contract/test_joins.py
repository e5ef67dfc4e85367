"""Every scheme of joins on random histories: what clients hold is what the oracle recomputes, after every event."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.joins.client import JoinClient, Note
from tamis.joins.naive import NaiveJoins
from tamis.joins.schemes.scheme import SCHEMES
from tamis.joins.server import JoinServer
from tamis.schema import Schema
from tamis.testing import GeneratedJoins, join_workloads
from tests.generated import cases


def check(scheme: str, workload: GeneratedJoins, seed: int) -> None:
    rng = random.Random(seed)
    oracle = NaiveJoins(workload.schema, workload.texts)
    server = JoinServer(workload.schema, scheme=scheme)
    late = dict(rng.sample(sorted(workload.texts.items()), rng.randint(0, len(workload.texts))))
    assert server.add({id: text for id, text in workload.texts.items() if id not in late}) == []
    clients: dict[str, JoinClient] = {id: server.client(id) for id in server.ids()}
    past: dict[str, list[Note]] = {id: [] for id in workload.texts}
    joining = rng.randrange(len(workload.events))
    for place, event in enumerate(workload.events):
        if place == joining:
            server.add(late)
            clients |= {id: server.client(id) for id in late}
        applied = server.apply([event])
        _, refused = oracle.apply([event])
        assert [violation.message for violation in applied.refused] == list(refused.values())
        told = server.notifications(applied) if scheme == "enum-j" else {}
        for id, client in clients.items():
            notes = server.notes(applied, id)
            delta = client.apply([*notes, *rng.choices(past[id] or [Note(0, ())], k=2)])
            if scheme == "enum-j":
                assert sorted(map(repr, delta.added)) == sorted(map(repr, told[id].added if id in told else []))
                assert sorted(map(repr, delta.removed)) == sorted(map(repr, told[id].removed if id in told else []))
            past[id] += notes
            assert dict(client.results) == oracle.content(id), (place, id)
        if rng.random() < 0.2 and clients:
            id = rng.choice(sorted(clients))
            clients[id] = server.client(id)
            past[id] = []
            assert dict(clients[id].results) == oracle.content(id)


@pytest.mark.parametrize("scheme", SCHEMES)
@given(workload=join_workloads(max_events=40, max_tables=2), seed=st.integers(0, 1 << 16))
@settings(max_examples=cases(12), deadline=None)
def test_clients_of_two_tables_hold_what_the_oracle_recomputes(
    scheme: str, workload: GeneratedJoins, seed: int
) -> None:
    check(scheme, workload, seed)


@pytest.mark.parametrize("scheme", SCHEMES)
@given(workload=join_workloads(max_subscriptions=3, max_events=40), seed=st.integers(0, 1 << 16))
@settings(max_examples=cases(12), deadline=None)
def test_clients_of_more_tables_hold_what_the_oracle_recomputes(
    scheme: str, workload: GeneratedJoins, seed: int
) -> None:
    check(scheme, workload, seed)


SEEN = Schema.from_dict(
    {
        "attributes": {"x": "integer", "a": "float", "b": "float"},
        "event_types": {"R": {"x": "mandatory", "a": "mandatory", "b": "mandatory"}, "S": {"x": "mandatory"}},
        "tables": {"R": {"key": ["x"], "join": ["x"]}, "S": {"key": ["x"], "join": ["x"]}},
    }
)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_subscriptions_that_come_leave_clients_that_are_there_exact(scheme: str) -> None:
    """The attribute that most subscriptions restrict is another one then; what was sent was sent by the first."""
    head = "SELECT * FROM R JOIN S USING (x) WHERE "
    server = JoinServer(SEEN, {"first": f"{head} R.a >= 1"}, scheme)
    client = server.client("first")

    def tell(event: dict[str, Any]) -> None:
        client.apply(server.notes(server.apply([event]), "first"))

    tell({"event_type": "S", "x": 1})
    tell({"event_type": "R", "x": 1, "a": 0.0, "b": 0.0})
    server.add({f"late {number}": f"{head} R.b < {number}" for number in range(3)})
    tell({"event_type": "R", "x": 1, "a": 2.0, "b": 0.0})
    assert client.content() == [{"x": 1, "a": 2.0, "b": 0.0}]
