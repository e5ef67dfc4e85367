"""Plans made of a sample of events, and servers that work by them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tamis.joins.multiway import Costs, planned
from tamis.joins.naive import NaiveJoins
from tamis.joins.server import JoinServer
from tamis.language.joins import parse_join
from tamis.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "attributes": {"x": "integer", "y": "integer", "a": "float", "b": "float", "id": "integer"},
        "event_types": {
            "R": {"id": "mandatory", "x": "mandatory", "y": "mandatory", "a": "mandatory", "b": "mandatory"},
            "S": {"id": "mandatory", "x": "mandatory", "a": "mandatory"},
            "T": {"id": "mandatory", "y": "mandatory", "a": "mandatory"},
        },
        "tables": {
            "R": {"key": ["id"], "join": ["x", "y"]},
            "S": {"key": ["id"], "join": ["x"]},
            "T": {"key": ["id"], "join": ["y"]},
        },
    }
)
STAR = "SELECT * FROM R JOIN S USING (x) JOIN T USING (y) WHERE R.a BETWEEN {} AND {} AND R.b < {} AND S.a < 0.9"


def texts(rng: random.Random, count: int) -> dict[str, str]:
    lows = [rng.random() / 2 for _ in range(count)]
    return {f"j{number}": STAR.format(low, low + 0.5, rng.random() / 10) for number, low in enumerate(lows)}


def events(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """S has a row for nearly every x, T for one y in ten."""
    made = []
    for id in range(count):
        row = {"id": id, "a": rng.random()}
        match id % 4:
            case 0:
                made.append({"event_type": "S", "x": id % 20, **row})
            case 1 if id % 40 == 1:
                made.append({"event_type": "T", "y": id % 3, **row})
            case _:
                made.append(
                    {"event_type": "R", "x": rng.randrange(20), "y": rng.randrange(30), "b": rng.random(), **row}
                )
    return made


def test_a_trial_prefers_the_filter_that_few_rows_pass() -> None:
    rng = random.Random(1)
    some = texts(rng, 20)
    plan = planned(SCHEMA, some, events(rng, 400))
    signature = parse_join(some["j0"], SCHEMA).signature
    assert plan.filters(signature) == {"R": "T", "S": "R", "T": "R"}
    assert plan.leading["R"] == ("b", "a")  # fewer rows pass the condition on b


@pytest.mark.parametrize("costs", ["sampled", "parametric"])
@pytest.mark.parametrize("every_attribute", [False, True])
@pytest.mark.parametrize("scheme", ["ref-sj-clu+", "enum-sj"])
def test_contents_are_the_same_under_any_plan(costs: Costs, every_attribute: bool, scheme: str) -> None:
    rng = random.Random(2)
    some, history = {id: text.replace("R.b < 0.0", "R.b < 0.9") for id, text in texts(rng, 4).items()}, events(rng, 240)
    plan = planned(SCHEMA, some, history[:60], costs, every_attribute=every_attribute)
    server = JoinServer(SCHEMA, some, scheme, plan=plan)
    clients = {id: server.client(id) for id in some}
    oracle = NaiveJoins(SCHEMA, some)
    for start in range(0, len(history), 10):
        oracle.apply(history[start : start + 10])
        applied = server.apply(history[start : start + 10])
        for id, client in clients.items():
            client.apply(server.notes(applied, id))
            assert dict(client.results) == oracle.content(id)
    assert sum(len(client) for client in clients.values()) > 4


def test_attributes_that_descriptions_leave_out_make_clients_keep_more() -> None:
    """App. C both ways: with every attribute described nothing is sent in vain."""
    rng = random.Random(3)
    some, history = texts(rng, 8), events(rng, 200)
    sizes = {}
    for every_attribute in (False, True):
        plan = planned(SCHEMA, some, history[:60], every_attribute=every_attribute)
        server = JoinServer(SCHEMA, some, "ref-sj-clu", plan=plan)
        applied = server.apply(history)
        sizes[every_attribute] = sum(len(server.notes(applied, id)) for id in some)
    assert sizes[True] < sizes[False]
