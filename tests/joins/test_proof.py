"""Random histories in plain SQL: what every scheme's clients hold is what a database recomputes after every event."""

from __future__ import annotations

import pytest

from tamis.joins.client import JoinClient
from tamis.joins.schemes.scheme import SCHEMES
from tamis.testing.join_histories import join_history
from tamis.testing.join_proof import ContentDiffersError, prove


def test_clients_hold_what_a_database_recomputes_after_every_event() -> None:
    tally = prove(range(20))
    assert tally.contents > 20 * 20 * len(SCHEMES) // 2
    assert tally.results > 100
    assert tally.refused > 20


@pytest.mark.slow
def test_clients_hold_what_a_database_recomputes_in_a_thousand_histories() -> None:
    """`python -m benchmarks joins-exact` plays ten thousand."""
    assert prove(range(20, 1020)).histories == 1000


def test_a_client_that_misses_something_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JoinClient, "_remove", lambda self, result: None)
    with pytest.raises(ContentDiffersError, match="holds something else"):
        prove(range(10), schemes=["enum-j"])


def test_histories_are_of_every_kind() -> None:
    histories = [join_history(seed) for seed in range(200)]
    texts = [text for history in histories for text in history.texts.values()]
    tables = [len(tables) for history in histories for tables in history.tables.values()]
    assert {2, 3, 4} == set(tables)
    assert any(" OR " in text for text in texts)
    assert any("LIKE" in text for text in texts)
    assert any(" ON " in text and " AND " in text.split(" ON ")[1].split(" WHERE ")[0] for text in texts)
    retentions = [table.retention for history in histories for table in history.schema.tables.values()]
    assert any(one.count is not None for one in retentions)
    assert any(one.window is not None for one in retentions)
    operations = {event.get("operation") for history in histories for event in history.events}
    assert operations == {None, "insert", "update", "delete"}
