"""What each event did to rows and results: put together, it is the oracle's content after every event."""

from __future__ import annotations

from random import Random

import pytest

from tamis.errors import TamisError
from tamis.joins.arrivals import Showing, Shown
from tamis.joins.naive import NaiveJoins
from tamis.joins.server import JoinServer
from tests.service.worker.exchange import ALL_THREE, PRAISED, SCHEMA, TRADED, drawn

TEXTS = {"praised": PRAISED, "traded": TRADED, "three": ALL_THREE}


@pytest.mark.parametrize("seed", range(3))
def test_changes_event_by_event_come_to_what_the_oracle_holds(seed: int) -> None:
    random = Random(seed)
    server, oracle = JoinServer(SCHEMA, TEXTS), NaiveJoins(SCHEMA, TEXTS)
    held: dict[str, dict[object, Shown]] = {id: {} for id in TEXTS}
    rows: dict[str, set[object]] = {name: set() for name in SCHEMA.tables}
    for second in range(0, 60, 12):
        events = drawn(random, 12, second)
        applied = server.apply(events)
        results, changed = list(server.result_changes(applied)), list(server.row_changes(applied))
        for place, event in enumerate(events):
            oracle.apply([event])
            for row in (one for one in changed if one.event == place):
                (rows[row.table].add if row.there else rows[row.table].discard)(row.identity)
            for result in (one for one in results if one.event == place):
                assert held[result.id].pop(result.result, None) == result.before
                if result.after is not None:
                    held[result.id][result.result] = result.after
            for id, join in oracle.joins.items():
                showing = Showing(join.signature, join.columns, SCHEMA)
                assert held[id] == {key: showing.show(whole) for key, whole in oracle.content(id).items()}
            assert rows == {name: set(table.rows) for name, table in oracle.tables.items()}
        for id, content in held.items():
            assert dict(server.results_of(id)) == content
        for name, table in oracle.tables.items():
            assert server.arrivals(name) == (table.arrived, table.latest)


def test_columns_are_those_of_the_text_and_results_need_a_server_that_works_them_out() -> None:
    assert JoinServer(SCHEMA, TEXTS).columns("traded") == ["Symbol", "Price"]
    lazy = JoinServer(SCHEMA, TEXTS, scheme="ref-sj-sub")
    with pytest.raises(TamisError, match="leaves results to clients"):
        list(lazy.result_changes(lazy.apply([])))
